/** The end of every service, from a signal until it has stopped. */
import type { Logger } from 'pino'
import type { Stopping } from '../config/stopping.ts'
import type { App } from '../http/app-type.ts'
import type { TakeIn } from '../http/close-listener.ts'
import { wait } from './effects.ts'
import { waitUntilWritten } from './log.ts'

/** Where signals come from: the process, or what the primary process tells one of its workers. */
export interface Signals {
  on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', act: (signal: string) => void): unknown
}

/** A service that listens. */
export interface ListeningService {
  readonly app: App
  close(): Promise<void>
}

/** The time that running requests have after a signal. */
const GRACE_MS = 10_000
/** The time for closing what did not finish. */
const LAST_WAIT_MS = 2_000
/** The time within which a process has ended after its time of grace, whatever it waits for. */
export const MAX_END_MS = GRACE_MS + 2 * LAST_WAIT_MS
/** The time for requests that are on their way on open connections. */
const OPEN_CONNECTION_SECONDS = 0.2
const POLL_SECONDS = 0.01

/** Ends the process by `end` when a signal comes; a second signal ends it at once. */
export function stopOnSignal(end: (signal: string) => Promise<void>, log: Logger, signals: Signals): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ event: 'stopping', signal }, 'finishing what runs')
    end(signal).then(
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
  signals.on('SIGTERM', stop)
  signals.on('SIGINT', stop)
}

/** The end of a service: the signal that asks for it, and how the process takes in connections that have arrived. */
interface Ending {
  readonly signal: string
  readonly log: Logger
  readonly takeIn: TakeIn
}

/**
 * Finishes what runs, and closes the service. SIGTERM has a grace period, in which requests are answered and
 * `GET /health/ready` says that they should go elsewhere; SIGINT comes from a person who waits.
 */
export function endService(service: ListeningService, { graceSeconds }: Stopping, ending: Ending): Promise<void> {
  return endConnections(service, ending.signal === 'SIGTERM' ? graceSeconds : 0, ending)
}

/** Ends the connections of a service, after waiting for the requests that are on their way on them. */
async function endConnections(service: ListeningService, graceSeconds: number, { log, takeIn }: Ending): Promise<void> {
  const { connections } = service.app
  connections.endAfterAnswers()
  await wait(graceSeconds)
  await connections.closeListener(takeIn)
  for (
    let waitedSeconds = 0;
    waitedSeconds < OPEN_CONNECTION_SECONDS && connections.countOpen() > 0;
    waitedSeconds += POLL_SECONDS
  ) {
    await wait(POLL_SECONDS)
  }
  endAfterGrace(service, log)
  const closing = service.close()
  connections.closeIdle()
  await closing
}

/** Exits when the log is written, or soon even if its reader stands still. */
export function exitAfterLog(status: number): void {
  const exit = (): never => process.exit(status)
  setTimeout(exit, LAST_WAIT_MS)
  void waitUntilWritten().then(exit)
}

/** Ends, after the time of grace, connections that never end their request or never read their answer. */
function endAfterGrace({ app }: ListeningService, log: Logger): void {
  setTimeout(() => {
    log.warn({ event: 'stopping_hard' }, 'ending the connections that do not finish')
    app.server.closeAllConnections()
    setTimeout(() => process.exit(1), LAST_WAIT_MS).unref()
  }, GRACE_MS).unref()
}
