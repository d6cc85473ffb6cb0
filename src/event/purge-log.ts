/** The line of the log about sessions that were deleted. */
import type { Logger } from 'pino'

/** Creates the function that logs how many sessions a sweep has deleted. */
export function createPurgeLog(log: Logger): (sessions: number) => void {
  return (sessions) => log.info({ event: 'sessions_purged', sessions }, 'sessions were deleted, as their time was over')
}
