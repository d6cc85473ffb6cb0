/** Assembles the metrics of an issuer or a verifier: those that other files register, and those of its database. */
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import type { CallbackCollections } from '../../callback/queue.ts'
import type { MeasuredMetric } from '../../http/metrics-server.ts'
import { createRequestObserver, type RequestObserver } from '../../http/request-metrics.ts'
import { registerTelemetryMetrics, type TelemetryCounts } from '../../http/telemetry-metrics.ts'
import type { RecordSignedList } from '../../issuer/context.ts'
import type { ConflictCounts } from '../../store/retry.ts'
import type { Store } from '../../store/store.ts'
import { logCounts } from '../log.ts'
import { failedRounds } from '../service/tasks.ts'
import { registerListMetrics } from './list-metrics.ts'
import { type CertificateSettings, listCertificates } from './measured-certificates.ts'
import { type CommitObserver, registerOutcomeMetrics } from './outcome-metrics.ts'
import {
  registerCallbackMetrics,
  registerCertificateMetrics,
  registerConflictMetrics,
  registerConnectionMetrics,
  registerLogMetrics,
  registerPkcs11KeyMetrics,
  registerReadinessMetrics,
  registerSessionMetrics,
  registerTaskMetrics,
} from './state-metrics.ts'
import { createStepTimer, type StepTimer } from './step-metrics.ts'
import { registerTrustListMetrics } from './trust-list-metrics.ts'

export interface ServiceMetrics {
  readonly registry: Registry
  readonly observer: RequestObserver
  /** Observes every committed batch of the store. */
  readonly observeCommit: CommitObserver
  readonly steps: StepTimer
  /** Records each status list that an issuer signs. */
  readonly recordSignedList: RecordSignedList | undefined
}

/** The sources of the metrics, which are read with each request for metrics. */
interface MetricSources {
  readonly getConfig: () => CertificateSettings
  readonly conflicts: ConflictCounts
  readonly store: Store<CallbackCollections>
  readonly now: () => Date
  /** Returns whether each key in a token signs, by the path of its setting. */
  readonly getPkcs11KeyStates: () => ReadonlyMap<string, boolean>
  /** Rejects if the service is not ready. */
  readonly checkReady: () => Promise<unknown>
  /** Returns the states of the newest sessions. */
  readonly listNewestStates: (limit: number) => Promise<readonly string[]>
  /** Returns when each trust list of a verifier ends, by its URL. */
  readonly readTrustListEnds: () => Promise<ReadonlyMap<string, number | undefined>>
  readonly telemetry?: TelemetryCounts | undefined
}

/** Creates the metrics of a service: requests, outcomes, database, state, certificates and process. */
export function createServiceMetrics(name: 'issuer' | 'verifier', sources: MetricSources): ServiceMetrics {
  const registry = new Registry()
  const prefix = `vouchsafe_${name}_`
  collectDefaultMetrics({ register: registry })
  registerConflictMetrics(prefix, registry, sources.conflicts)
  registerCallbackMetrics(prefix, registry, sources.store, sources.now)
  registerConnectionMetrics(prefix, registry, sources.store)
  registerTelemetryMetrics(prefix, registry, sources.telemetry)
  registerCertificateMetrics(prefix, registry, () => listCertificates(sources.getConfig()), sources.now)
  registerPkcs11KeyMetrics(prefix, registry, sources.getPkcs11KeyStates)
  registerReadinessMetrics(prefix, registry, sources.checkReady)
  registerSessionMetrics(prefix, registry, sources.listNewestStates, sources.now)
  if (name === 'verifier') registerTrustListMetrics(prefix, registry, sources.readTrustListEnds, sources.now)
  registerLogMetrics(prefix, registry, logCounts)
  registerTaskMetrics(prefix, registry, failedRounds)
  const observeCommit = registerOutcomeMetrics(name, prefix, registry)
  return {
    registry,
    observer: createRequestObserver(prefix, registry),
    observeCommit,
    steps: createStepTimer(prefix, registry),
    recordSignedList: name === 'issuer' ? registerListMetrics(prefix, registry, sources.now) : undefined,
  }
}

/** Returns the metrics of several processes as one text, each aggregated as it defines. */
export function mergeMetrics(metricsByProcess: readonly (readonly MeasuredMetric[])[]): Promise<string> {
  return aggregate(metricsByProcess).metrics()
}

/** Adds up the metrics of several processes, as {@link mergeMetrics} does. */
export function sumMetrics(
  metricsByProcess: readonly (readonly MeasuredMetric[])[],
): Promise<readonly MeasuredMetric[]> {
  return aggregate(metricsByProcess).getMetricsAsJSON()
}

function aggregate(metricsByProcess: readonly (readonly MeasuredMetric[])[]): Registry {
  return AggregatorRegistry.aggregate(metricsByProcess.map((metrics) => [...metrics]))
}
