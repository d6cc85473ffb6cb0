/** Metrics of the state of a service, which are computed when metrics are read. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { cacheValue } from '../../async/cache.ts'
import { endsWithin, valueWithin } from '../../async/timer.ts'
import { countCallbacks } from '../../callback/counts.ts'
import type { CallbackCollections } from '../../callback/queue.ts'
import { epochSeconds } from '../../codec/time.ts'
import type { ConflictCounts } from '../../store/retry.ts'
import type { Store } from '../../store/store.ts'
import type { LogCounts } from '../log.ts'

/** The time limit for the database, which is shorter than that of who reads the metrics. */
const READ_WITHIN_MS = 2000
/** The number of sessions that are counted, with one indexed query. */
const NEWEST_SESSIONS = 100
/** How long counts of rows are cached. */
const COUNTS_MS = 5000
/** How long the states of sessions are cached. */
const SESSIONS_MS = 10_000

/** A certificate that must be renewed. */
export interface MeasuredCertificate {
  /** The setting with the certificate. */
  readonly key: string
  readonly certificate: 'own' | 'intermediate' | 'anchor'
  readonly notAfter: Date
}

/**
 * Registers the gauge of the time until certificates expire: for each setting and kind, that of the first to expire.
 */
export function registerCertificateMetrics(
  prefix: string,
  registry: Registry,
  list: () => readonly MeasuredCertificate[],
  now: () => Date,
): void {
  new Gauge({
    name: `${prefix}certificate_expires_seconds`,
    help: 'Time until the first certificate of a setting ends: that of a key or of TLS (own), one that is sent with it (intermediate), or one that is trusted (anchor)',
    labelNames: ['key', 'certificate'],
    aggregator: 'min',
    registers: [registry],
    collect() {
      this.reset()
      // The last value that is set remains: that of the certificate that expires first.
      const latestFirst = [...list()].sort((one, other) => other.notAfter.getTime() - one.notAfter.getTime())
      for (const { key, certificate, notAfter } of latestFirst) {
        this.set({ key, certificate }, Math.round((notAfter.getTime() - now().getTime()) / 1000))
      }
    },
  })
}

/** Registers the gauge of the keys in tokens; `states` returns whether each signs, by the path of its setting. */
export function registerPkcs11KeyMetrics(
  prefix: string,
  registry: Registry,
  states: () => ReadonlyMap<string, boolean>,
): void {
  new Gauge({
    name: `${prefix}token_key_signs`,
    help: '1 while a key in a PKCS #11 token signs, which is tried once a minute; else 0. Keys in files have no value',
    labelNames: ['key'],
    aggregator: 'min',
    registers: [registry],
    collect() {
      for (const [key, signs] of states()) this.set({ key }, signs ? 1 : 0)
    },
  })
}

/**
 * Returns what a metric reads from the database; undefined when the database cannot be read, or does not answer, so
 * that all other metrics are still served.
 */
export function readInTime<T>(reading: Promise<T>): Promise<T | undefined> {
  return valueWithin(reading, READ_WITHIN_MS)
}

/** Registers the gauge of readiness, which is that of `/health/ready`. */
export function registerReadinessMetrics(
  prefix: string,
  registry: Registry,
  checkReady: () => Promise<unknown>,
  withinMs = READ_WITHIN_MS,
): void {
  new Gauge({
    name: `${prefix}ready`,
    help: '1 while the service can do its work, as /health/ready says; else 0',
    aggregator: 'min',
    registers: [registry],
    async collect() {
      const isReady = await endsWithin(checkReady(), withinMs).catch(() => false)
      this.set(isReady ? 1 : 0)
    },
  })
}

/** Registers the counter of log lines that were not written. */
export function registerLogMetrics(prefix: string, registry: Registry, counts: LogCounts): void {
  new Counter({
    name: `${prefix}log_lines_dropped_total`,
    help: 'Lines of the log that were lost, since their reader stood still or is gone, or the disk took none',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(counts.dropped)
    },
  })
}

/** Registers the counter of failed rounds of background tasks; `counts` has them by task name. */
export function registerTaskMetrics(prefix: string, registry: Registry, counts: ReadonlyMap<string, number>): void {
  new Counter({
    name: `${prefix}task_failures_total`,
    help: 'Rounds of background tasks that failed, each of which is tried again',
    labelNames: ['task'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [task, count] of counts) this.inc({ task }, count)
    },
  })
}

/**
 * Registers the gauge of the newest sessions by state. Counting all sessions would read all rows, since their states
 * are in the values, which may be encrypted.
 */
export function registerSessionMetrics(
  prefix: string,
  registry: Registry,
  listNewestStates: (limit: number) => Promise<readonly string[]>,
  now: () => Date,
): void {
  const states = cacheValue(() => readInTime(listNewestStates(NEWEST_SESSIONS)), { ttlMs: SESSIONS_MS, now })
  const name = `${prefix}sessions`
  const help = `The newest ${NEWEST_SESSIONS} sessions, by the state that they have now; events_total counts all that began and ended`
  registerStateGauge(registry, { name, help }, async () => {
    const sessions: Record<string, number> = {}
    for (const state of (await states.get()) ?? []) sessions[state] = (sessions[state] ?? 0) + 1
    return sessions
  })
}

/** Registers the gauges of callbacks, which are counted in the database when metrics are read. */
export function registerCallbackMetrics(
  prefix: string,
  registry: Registry,
  store: Store<CallbackCollections>,
  now: () => Date,
): void {
  const counts = cacheValue(() => readInTime(countCallbacks(store)), { ttlMs: COUNTS_MS, now })
  const countsName = `${prefix}callbacks`
  const countsHelp = 'Sessions whose callbacks wait, and callbacks that were given up; both count up to 1000'
  registerStateGauge(registry, { name: countsName, help: countsHelp }, async () => {
    const callbacks = await counts.get()
    return callbacks && { waiting: callbacks.waiting, dead: callbacks.dead }
  })
  const ageName = `${prefix}callback_oldest_seconds`
  const ageHelp = 'Age of the oldest callback that waits; 0 when none does'
  registerStateGauge(registry, { name: ageName, help: ageHelp }, async () => {
    const callbacks = await counts.get()
    if (callbacks === undefined) return undefined
    const seconds = epochSeconds(now())
    return { waiting: Math.max(0, seconds - (callbacks.oldest_waiting_at ?? seconds)) }
  })
}

/** Registers a gauge by state, which has no values while the database cannot be read. */
function registerStateGauge(
  registry: Registry,
  { name, help }: { readonly name: string; readonly help: string },
  readValues: () => Promise<Readonly<Record<string, number>> | undefined>,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['state'],
    // All workers count the rows of the same database.
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const values = (await readValues()) ?? {}
      this.reset()
      for (const [state, value] of Object.entries(values)) this.set({ state }, value)
    },
  })
}

/** Registers the gauges of the connections and the waiting batches of a database. */
export function registerConnectionMetrics(
  prefix: string,
  registry: Registry,
  store: Pick<Store<CallbackCollections>, 'countConnections' | 'countWaitingBatches'>,
): void {
  new Gauge({
    name: `${prefix}database_connections`,
    help: 'Connections to PostgreSQL that are busy or idle, and statements that wait for one; nothing of SQLite',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [state, count] of Object.entries(store.countConnections?.() ?? {})) this.set({ state }, Number(count))
    },
  })
  new Gauge({
    name: `${prefix}database_batches_waiting`,
    help: 'Batches of changes that wait for the writer of SQLite; PostgreSQL has no value',
    registers: [registry],
    collect() {
      const waiting = store.countWaitingBatches?.()
      if (waiting === undefined) this.remove()
      else this.set(waiting)
    },
  })
}

/** Registers the counter of work that met a change by another. */
export function registerConflictMetrics(prefix: string, registry: Registry, counts: ConflictCounts): void {
  new Counter({
    name: `${prefix}store_conflicts_total`,
    help: 'Work that met a change by another, and was done anew or given up',
    labelNames: ['end'],
    registers: [registry],
    collect() {
      this.reset()
      this.inc({ end: 'retried' }, counts.retried)
      this.inc({ end: 'given_up' }, counts.givenUp)
    },
  })
}
