/** The metrics of an engine's process, which the issuer and the verifier have too. */
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { logCounts } from '../log.ts'
import { type CertificateSettings, listCertificates } from '../metrics/measured-certificates.ts'
import {
  registerCertificateMetrics,
  registerLogMetrics,
  registerReadinessMetrics,
  registerTaskMetrics,
} from '../metrics/state-metrics.ts'
import { failedRounds } from '../service/tasks.ts'

const PREFIX = 'vouchsafe_engine_'

interface MeasuredEngine {
  readonly config: CertificateSettings
  readonly checkReady: () => Promise<void>
  readonly now: () => Date
}

export function registerProcessMetrics(registry: Registry, { config, checkReady, now }: MeasuredEngine): void {
  collectDefaultMetrics({ register: registry })
  registerCertificateMetrics(PREFIX, registry, () => listCertificates({ tls: config.tls }), now)
  registerReadinessMetrics(PREFIX, registry, checkReady)
  registerLogMetrics(PREFIX, registry, logCounts)
  registerTaskMetrics(PREFIX, registry, failedRounds)
}
