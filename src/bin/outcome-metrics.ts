/** The metrics of session events, counted when they are committed, and of waiting callbacks. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { cacheValue } from '../async/cache.ts'
import type { CallbackCollections } from '../callback/queue.ts'
import { isObject } from '../codec/json.ts'
import { countCallbacks } from '../event/callback-counts.ts'
import { carriedByCallback, type Event, type EventType } from '../event/event.ts'
import type { Change, Store } from '../store/store.ts'
import type { VerificationSession } from '../verifier/session.ts'
import { failedChecks } from '../verifier/verification.ts'
import type { CredentialServiceName } from './service/credential-services.ts'

/** How long counts of rows are cached. */
const COUNTS_MS = 5000

/** The part of an event type before the dot. */
type SubjectOf<Type> = Type extends `${infer Word}.${string}` ? Word : never
type EventSubject = SubjectOf<EventType>

/** The services that record events of each subject; none if only commands do, or a service before it serves. */
const recordersBySubject: Readonly<Record<EventSubject, readonly CredentialServiceName[]>> = {
  audit: ['issuer', 'verifier'],
  callback: ['issuer', 'verifier'],
  configuration: ['issuer'],
  issuance: ['issuer'],
  credential: ['issuer'],
  database: [],
  query: ['verifier'],
  'status-list': [],
  presentation: ['verifier'],
  verification: ['verifier'],
}

/** Counts a committed batch. */
export type CommitObserver = (changes: readonly Change<Record<string, unknown>>[]) => void

/** Registers the counters of events and failed checks. Returns the observer that counts each batch. */
export function registerOutcomeMetrics(
  name: CredentialServiceName,
  prefix: string,
  registry: Registry,
): CommitObserver {
  const events = new Counter({
    name: `${prefix}events_total`,
    help: 'Events that this process recorded (sessions begun and ended, credentials revoked), by type',
    labelNames: ['type'],
    registers: [registry],
  })
  for (const type of Object.keys(carriedByCallback)) {
    const [subject] = type.split('.', 1)
    if (recordersBySubject[subject as EventSubject].includes(name)) events.inc({ type }, 0)
  }
  const failedCheckCounter =
    name === 'verifier' &&
    new Counter({
      name: `${prefix}failed_checks_total`,
      help: 'Failed checks of verifications that failed, by check',
      labelNames: ['check'],
      registers: [registry],
    })
  return (changes) => {
    const types = changes.flatMap((change) =>
      'insert' in change && change.insert === 'event' ? [(change.value as Event).type] : [],
    )
    for (const type of types) events.inc({ type })
    if (failedCheckCounter && types.includes('verification.failed')) {
      for (const check of failedChecksIn(changes)) failedCheckCounter.inc({ check })
    }
  }
}

function failedChecksIn(changes: readonly Change<Record<string, unknown>>[]): readonly string[] {
  return changes.flatMap((change) => {
    if (!('update' in change && change.update === 'verification_session' && isObject(change.value))) return []
    const { outcome } = change.value as unknown as VerificationSession
    return outcome !== undefined && 'report' in outcome ? [...new Set(failedChecks(outcome.report))] : []
  })
}

/** Wraps a store so that `observe` is called with each committed batch. */
export function observeCommits<C>(store: Store<C>, observe: CommitObserver): Store<C> {
  return {
    ...store,
    commit: async (changes) => {
      const conflict = await store.commit(changes)
      if (conflict === undefined) observe(changes)
      return conflict
    },
  }
}

/** Registers the gauges of callbacks, which are counted in the database when metrics are read. */
export function registerCallbackMetrics(
  prefix: string,
  registry: Registry,
  store: () => Store<CallbackCollections>,
  now: () => Date,
): void {
  // If the database cannot be read, all other metrics are still served.
  const counts = cacheValue(() => countCallbacks(store()).catch(() => undefined), { ttlMs: COUNTS_MS, now })
  new Gauge({
    name: `${prefix}callbacks`,
    help: 'Sessions whose callbacks wait, and callbacks that were given up; both count up to 1000',
    labelNames: ['state'],
    // All workers count the rows of the same database.
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const callbacks = await counts.get()
      this.reset()
      if (callbacks === undefined) return
      this.set({ state: 'waiting' }, callbacks.waiting)
      this.set({ state: 'dead' }, callbacks.dead)
    },
  })
  new Gauge({
    name: `${prefix}callback_oldest_seconds`,
    help: 'Age of the oldest callback that waits; 0 when none does',
    labelNames: ['state'],
    // All workers count the rows of the same database.
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const callbacks = await counts.get()
      this.reset()
      if (callbacks === undefined) return
      const seconds = Math.floor(now().getTime() / 1000)
      this.set({ state: 'waiting' }, Math.max(0, seconds - (callbacks.oldest_waiting_at ?? seconds)))
    },
  })
}
