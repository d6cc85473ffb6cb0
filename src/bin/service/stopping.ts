/** Stops a service, from the signal to the end of the process. */
import type { Logger } from 'pino'
import type { Stopping } from '../../config/stopping.ts'
import type { App } from '../../http/app-type.ts'
import type { AcceptArrived } from '../../http/close-listener.ts'
import { sleep } from '../effects.ts'
import { flushLog } from '../log.ts'

/** The source of signals: the process, or the primary process for a worker. */
export interface Signals {
  on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', act: (signal: string) => void): unknown
}

/** A running service. */
export interface ListeningService {
  readonly app: App
  close(): Promise<void>
}

/** The time limit for requests that still run when the service has stopped listening. */
const REQUEST_END_MS = 10_000
/** The time limit for closing what has not finished. */
const LAST_WAIT_MS = 2_000
/** The maximum time until a process ends, after its grace period. */
export const MAX_END_MS = REQUEST_END_MS + 2 * LAST_WAIT_MS
/** How long to wait for requests that are arriving on open connections. */
const OPEN_CONNECTION_MS = 200
const POLL_MS = 10

/** Calls `end` at the first signal; a second signal ends the process at once. */
export function stopOnSignal(end: (signal: string) => Promise<void>, log: Logger, signals: Signals): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ event: 'stopping', signal }, 'finishing what runs')
    end(signal).then(
      () => {
        log.info({ event: 'stopped' }, 'stopped')
        exitAfterLog(log, 0)
      },
      (err: unknown) => {
        log.fatal({ event: 'stop_failed', err }, 'not stopped cleanly')
        exitAfterLog(log, 1)
      },
    )
  }
  signals.on('SIGTERM', stop)
  signals.on('SIGINT', stop)
}

/** How a service is stopped: the signal, and the function that accepts arrived connections. */
interface Ending {
  readonly signal: string
  readonly log: Logger
  readonly acceptArrived: AcceptArrived
}

/**
 * Finishes running requests, and closes the service. After SIGTERM there is a grace period, in which requests are
 * answered and `GET /health/ready` is 503. After SIGINT there is none.
 */
export async function endService(
  service: ListeningService,
  { graceSeconds }: Stopping,
  { signal, log, acceptArrived }: Ending,
): Promise<void> {
  const { connections } = service.app
  connections.endAfterAnswers()
  await sleep(signal === 'SIGTERM' ? graceSeconds * 1000 : 0)
  await connections.closeListener(acceptArrived)
  // Requests may be arriving on connections that are open.
  for (let waitedMs = 0; waitedMs < OPEN_CONNECTION_MS && connections.countOpen() > 0; waitedMs += POLL_MS) {
    await sleep(POLL_MS)
  }
  endUnfinishedLater(service, log)
  const closing = service.close()
  connections.closeIdle()
  await closing
}

/** Exits when the log is written and sent, or after a time limit if its reader or the collector is slow. */
export function exitAfterLog(log: Logger, status: number): void {
  const exit = (): never => process.exit(status)
  setTimeout(exit, LAST_WAIT_MS)
  void flushLog(log).then(exit)
}

/** Closes the connections whose requests have not ended, or whose responses were not read, at the time limit. */
function endUnfinishedLater({ app }: ListeningService, log: Logger): void {
  setTimeout(() => {
    log.warn({ event: 'stopping_hard' }, 'ending the connections that do not finish')
    app.server.closeAllConnections()
    setTimeout(() => process.exit(1), LAST_WAIT_MS).unref()
  }, REQUEST_END_MS).unref()
}
