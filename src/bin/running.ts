/** The end of every service, from a signal until it has stopped, and the refusal to start. */
import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Stopping } from '../config/stopping.ts'
import type { App } from '../http/app-type.ts'
import { placeHint } from './config-file.ts'
import { wait } from './effects.ts'
import { allWritten } from './log.ts'
import { plain } from './terminal.ts'
import { whoListens } from './who-listens.ts'

/** A service that listens. */
export interface Running {
  readonly app: App
  close(): Promise<void>
}

/** For what runs when a signal comes; then for closing what did not finish. */
const GRACE_MS = 10_000
const LAST_WAIT_MS = 2_000
/** For requests that are on their way on connections that are open. */
const LAST_CALL_SECONDS = 0.2
const LOOK_SECONDS = 0.01

/**
 * Under load V8 lets its young generation grow to 28 MB, and keeps it so. Measured on Node 20 and 24: resident memory
 * after 10,000 flows is 116/114 MB and 109/114 MB instead of up to 144/139.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Where it should listen; `within` is what the settings are in, up to their names. */
interface Wanted {
  readonly port: number
  readonly host: string
  readonly within?: string
}

/** Why it cannot listen, for the person who configured it. */
export async function listenMistake(
  { code, message }: NodeJS.ErrnoException,
  { port, host, within = '' }: Wanted,
): Promise<string> {
  const setting = `${within}port`
  if (code === 'EADDRINUSE') {
    const change = within === '' ? 'port and baseUrl' : setting
    return `${setting}: ${port} (host ${host}) is in use by ${await whoListens(port)}; stop that one, or change ${change}`
  }
  if (code === 'EACCES') return `${setting}: ${port} may not be used by this user`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${within}host: ${host} is no address of this machine`
  return `${setting}: ${message}`
}

/**
 * Finishes what runs when a signal comes, and ends; a second signal ends at once. SIGTERM has a grace period, in which
 * requests are answered and `GET /health/ready` says that they should go elsewhere; SIGINT comes from a person who
 * waits.
 */
export function stopOnSignal(service: Running, { graceSeconds }: Stopping, log: Logger): void {
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

/** No request is cut off: those that are on their way on an open connection are waited for. */
async function endConnections(service: Running, graceSeconds: number, log: Logger): Promise<void> {
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

/** A log reader that stands still keeps nobody from stopping. */
function exitAfterLog(status: number): void {
  const exit = (): never => process.exit(status)
  setTimeout(exit, LAST_WAIT_MS)
  void allWritten().then(exit)
}

/** A connection that never ends its request, or never reads its answer, keeps nobody from stopping. */
function endAfterGrace({ app }: Running, log: Logger): void {
  setTimeout(() => {
    log.warn({ event: 'stopping_hard' }, 'ending the connections that do not finish')
    app.server.closeAllConnections()
    setTimeout(() => process.exit(1), LAST_WAIT_MS).unref()
  }, GRACE_MS).unref()
}

export function addressPort(app: App): number | undefined {
  const address = app.server.address()
  return typeof address === 'object' ? address?.port : undefined
}

/** Every mistake, in the log and for people; the exit status is 2. */
export function refuseToStart(log: Logger, configFile: string, mistakes: readonly string[]): void {
  const count = `${mistakes.length} mistake${mistakes.length === 1 ? '' : 's'}`
  log.fatal({ event: 'refused_to_start', mistakes }, `${configFile}: ${count}, not started`)
  const lines = mistakes.map((mistake) => `  - ${plain(mistake.replaceAll('\n', ' '))}\n`)
  const hint = placeHint(configFile, mistakes)
  process.stderr.write(
    `${configFile} cannot be used:\n${lines.join('')}${hint === undefined ? '' : `${plain(hint)}\n`}`,
  )
  process.exitCode = 2
}
