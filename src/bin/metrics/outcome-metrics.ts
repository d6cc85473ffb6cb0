/** The metrics of session events, counted when they are committed. */
import { Counter, type Registry } from 'prom-client'
import { isObject } from '../../codec/json.ts'
import { type Event, type EventType, eventTypes } from '../../event/event.ts'
import type { Change, Store } from '../../store/store.ts'
import type { VerificationSession } from '../../verifier/session.ts'
import { failedChecks } from '../../verifier/verification.ts'
import type { CredentialServiceName } from '../service/credential-services.ts'

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
  for (const type of Object.keys(eventTypes)) {
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
