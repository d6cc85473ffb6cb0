/** The metrics of an issuer or a verifier that are about its process rather than about one request. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CallbackCollections } from '../callback/queue.ts'
import type { CommonConfig } from '../config/common.ts'
import type { MeasuredMetric } from '../http/metrics-server.ts'
import { createRequestObserver, type RequestObserver } from '../http/request-metrics.ts'
import { countTelemetry, type TelemetryCounts } from '../http/telemetry-metrics.ts'
import { listKeys } from '../keys/key-ring.ts'
import type { ConflictCounts } from '../store/retry.ts'
import type { Store } from '../store/store.ts'
import { type CommitObserver, countOutcomes, measureCallbacks } from './outcome-metrics.ts'

export interface ServiceMetrics {
  readonly registry: Registry
  readonly observer: RequestObserver
  /** Is told of every batch that the store commits. */
  readonly committed: CommitObserver
}

/** The sources of the metrics, which are read at each request for metrics. */
interface Measured {
  readonly config: () => CommonConfig
  readonly conflicts: ConflictCounts
  readonly store: () => Store<CallbackCollections>
  readonly now: () => Date
  readonly telemetry?: TelemetryCounts | undefined
}

/** Makes the metrics of a service: requests, outcomes, callbacks, connections, conflicts, certificates, process. */
export function createServiceMetrics(name: 'issuer' | 'verifier', measured: Measured): ServiceMetrics {
  const registry = new Registry()
  const prefix = `vouchsafe_${name}_`
  collectDefaultMetrics({ register: registry })
  countConflicts(prefix, registry, measured.conflicts)
  measureCallbacks(prefix, registry, measured.store, measured.now)
  measureConnections(prefix, registry, measured.store)
  countTelemetry(prefix, registry, measured.telemetry)
  new Gauge({
    name: `${prefix}certificate_expires_seconds`,
    help: 'Time until the certificate of a key ends, by the setting of the key',
    labelNames: ['key'],
    aggregator: 'min',
    registers: [registry],
    collect() {
      this.reset()
      for (const [key, { chain }] of listKeys(measured.config().keys)) {
        this.set({ key }, Math.round((chain[0].notAfter.getTime() - measured.now().getTime()) / 1000))
      }
    },
  })
  const committed = countOutcomes(name, prefix, registry)
  return { registry, observer: createRequestObserver(prefix, registry), committed }
}

/** Returns the text of the metrics of several processes as those of one, each added up as its definition says. */
export function addMetrics(ofProcesses: readonly (readonly MeasuredMetric[])[]): Promise<string> {
  return AggregatorRegistry.aggregate(ofProcesses.map((metrics) => [...metrics])).metrics()
}

function measureConnections(prefix: string, registry: Registry, store: Measured['store']): void {
  new Gauge({
    name: `${prefix}database_connections`,
    help: 'Connections to PostgreSQL that are busy or idle, and statements that wait for one; nothing of SQLite',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [state, count] of Object.entries(store().countConnections?.() ?? {}))
        this.set({ state }, Number(count))
    },
  })
}

function countConflicts(prefix: string, registry: Registry, counts: ConflictCounts): void {
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
