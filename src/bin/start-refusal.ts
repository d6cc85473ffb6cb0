/** The refusal of a service to start: its mistakes, for the log and for the person who configured it. */
import type { Logger } from 'pino'
import { workingDirectoryHint } from './config-file.ts'
import type { OpeningMistake } from './service/service-kind.ts'
import { removeControlCharacters } from './terminal.ts'
import { describeListener } from './who-listens.ts'

/**
 * The address at which a service was to listen; `within` is the path of the settings of that address, up to their
 * names.
 */
interface ListenAddress {
  readonly port: number
  readonly host: string
  readonly within?: string
}

/**
 * Describes why the service cannot listen, for the person who configured it. A port in use is a temporary reason, since
 * the process that uses it may be the same service, which stops.
 */
export async function describeListenProblem(
  { code, message }: NodeJS.ErrnoException,
  { port, host, within = '' }: ListenAddress,
): Promise<OpeningMistake> {
  const setting = `${within}port`
  if (code === 'EADDRINUSE') {
    const change = within === '' ? 'port and baseUrl' : setting
    const who = await describeListener(port)
    const mistake = `${setting}: ${port} (host ${host}) is in use by ${who}; stop that one, or change ${change}`
    return { mistake, isTemporary: true }
  }
  if (code === 'EACCES') return { mistake: `${setting}: ${port} may not be used by this user; name one above 1023` }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return { mistake: `${within}host: ${host} is not an address of this machine` }
  return { mistake: `${setting}: ${message}` }
}

/** Returns the mistakes of a start. Throws a {@link TemporaryFailure} where the reason is temporary. */
export function mistakesOf({ mistake, isTemporary = false }: OpeningMistake): readonly string[] {
  if (isTemporary) throw new TemporaryFailure(mistake)
  return [mistake]
}

/** The exit status of a service that may start later with the same settings: EX_TEMPFAIL of BSD's sysexits. */
export const TRY_LATER = 75

/** The failure of a start that may succeed later: another process has its port, or its database cannot be used. */
export class TemporaryFailure extends Error {}

/** Tells why the service does not start now, in the log and to people; the exit status is {@link TRY_LATER}. */
export function reportTemporaryFailure(log: Logger, { message }: TemporaryFailure): void {
  log.fatal({ event: 'start_later', why: message }, 'not started now; start again later')
  process.stderr.write(`not started now; start again later:\n  - ${removeControlCharacters(message)}\n`)
  process.exitCode = TRY_LATER
}

/** Tells every mistake, in the log and to people; the exit status is 2. */
export function reportMistakes(log: Logger, configFile: string, mistakes: readonly string[]): void {
  const count = `${mistakes.length} mistake${mistakes.length === 1 ? '' : 's'}`
  log.fatal({ event: 'refused_to_start', mistakes }, `${configFile}: ${count}, not started`)
  const lines = mistakes.map((mistake) => `  - ${removeControlCharacters(mistake.replaceAll('\n', ' '))}\n`)
  const hint = workingDirectoryHint(configFile, mistakes)
  process.stderr.write(
    `${configFile} cannot be used:\n${lines.join('')}${hint === undefined ? '' : `${removeControlCharacters(hint)}\n`}`,
  )
  process.exitCode = 2
}
