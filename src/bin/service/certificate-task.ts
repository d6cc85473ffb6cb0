/** Tells the operator of certificates that end while the service runs. */
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import {
  endedCertificateProblem,
  endedMetadataCertificateProblem,
  findEndingWarnings,
} from '../../config/certificate-end.ts'
import type { CommonConfig } from '../../config/common.ts'

const MINUTE_MS = 60_000
const ERROR_MS = 60 * MINUTE_MS
const WARNING_MS = 24 * ERROR_MS

/**
 * Creates the task that logs an error once an hour while a certificate has ended, and once a day a warning for each
 * that ends soon. The start logs the first warnings.
 */
export function createCertificateTask(
  getConfig: () => Pick<CommonConfig, 'keys' | 'tls'>,
  log: Logger,
  now: () => Date,
): Task {
  let warnedAt = now().getTime()
  let toldAt: number | undefined
  const run = (): Promise<void> => {
    const at = now()
    const { keys } = getConfig()
    const signing = endedCertificateProblem(keys, at)
    const mistake = signing ?? endedMetadataCertificateProblem(keys, at)
    if (mistake === undefined) toldAt = undefined
    else if (toldAt === undefined || at.getTime() - toldAt >= ERROR_MS) {
      toldAt = at.getTime()
      const what =
        signing === undefined ? 'issuer metadata is sent unsigned' : 'no session starts, and nothing is issued,'
      log.error({ event: 'certificate_ended', mistake }, `${what} until the certificate is renewed`)
    }
    if (at.getTime() - warnedAt < WARNING_MS) return Promise.resolve()
    warnedAt = at.getTime()
    for (const warning of findEndingWarnings(getConfig(), at))
      log.warn({ event: 'configuration_warning', warning }, warning)
    return Promise.resolve()
  }
  return { name: 'certificates', everyMs: MINUTE_MS, run }
}
