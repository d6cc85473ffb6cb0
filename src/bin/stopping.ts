/** The end of every service, from a signal until it has stopped. */
import type { Logger } from 'pino'
import type { Stopping } from '../config/stopping.ts'
import type { App } from '../http/app-type.ts'
import { wait } from './effects.ts'
import { allWritten } from './log.ts'

/** A service that listens. */
export interface ListeningService {
  readonly app: App
  close(): Promise<void>
}

/** The time that running requests have after a signal. */
const GRACE_MS = 10_000
/** The time for closing what did not finish. */
const LAST_WAIT_MS = 2_000
/** The time for requests that are on their way on open connections. */
const LAST_CALL_SECONDS = 0.2
const LOOK_SECONDS = 0.01

/**
 * Finishes what runs when a signal comes, and ends; a second signal ends at once. SIGTERM has a grace period, in which
 * requests are answered and `GET /health/ready` says that they should go elsewhere; SIGINT comes from a person who
 * waits.
 */
export function stopOnSignal(service: ListeningService, { graceSeconds }: Stopping, log: Logger): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ event: 'stopping', signal }, 'finishing what runs')
    endConnections(service, signal === 'SIGTERM' ? graceSeconds : 0, log).then(
      () => {
        log.info({ event: 'stopped' }, 'stopped')
        exitAfterLog(0)
      },
      (err: unknown) => {
        log.fatal({ event: 'stop_failed', err }, 'not stopped cleanly')
        exitAfterLog(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

/** Ends the connections of a service, after waiting for the requests that are on their way on them. */
async function endConnections(service: ListeningService, graceSeconds: number, log: Logger): Promise<void> {
  const { connections } = service.app
  connections.endAfterAnswers()
  await wait(graceSeconds)
  for (let waited = 0; waited < LAST_CALL_SECONDS && connections.open() > 0; waited += LOOK_SECONDS) {
    await wait(LOOK_SECONDS)
  }
  endAfterGrace(service, log)
  const closed = service.close()
  connections.closeQuiet()
  await closed
}

/** Exits when the log is written, or soon even if its reader stands still. */
function exitAfterLog(status: number): void {
  const exit = (): never => process.exit(status)
  setTimeout(exit, LAST_WAIT_MS)
  void allWritten().then(exit)
}

/** Ends, after the time of grace, connections that never end their request or never read their answer. */
function endAfterGrace({ app }: ListeningService, log: Logger): void {
  setTimeout(() => {
    log.warn({ event: 'stopping_hard' }, 'ending the connections that do not finish')
    app.server.closeAllConnections()
    setTimeout(() => process.exit(1), LAST_WAIT_MS).unref()
  }, GRACE_MS).unref()
}
