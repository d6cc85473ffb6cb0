/** Reports why a service does not start, in the log and to the operator. */
import type { Logger } from 'pino'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { describeHostProblem } from '../network/network.ts'
import { describeListener } from '../network/who-listens.ts'
import { configFileHints } from './config-file.ts'
import type { OpeningFailure } from './service-kind.ts'

/** The address at which a service should listen. `within` is the path of its settings, without their names. */
interface ListenAddress {
  readonly port: number
  readonly host: string
  readonly within?: string
}

/**
 * Describes why the service cannot listen. A port in use is a temporary reason, since the process that has it may be
 * the same service, which is stopping.
 */
export async function describeListenProblem(
  { code, message }: NodeJS.ErrnoException,
  { port, host, within = '' }: ListenAddress,
): Promise<OpeningFailure> {
  const setting = `${within}port`
  if (code === 'EADDRINUSE') {
    const change = within === '' ? 'port and baseUrl' : setting
    const who = await describeListener(port)
    const mistake = `${setting}: ${port} (host ${host}) is in use by ${who}; stop that one, or change ${change}`
    return { mistake, isTemporary: true }
  }
  if (code === 'EACCES') return { mistake: `${setting}: ${port} may not be used by this user; name one above 1023` }
  const hostProblem = describeHostProblem(code, host)
  if (hostProblem !== undefined) return { mistake: `${within}host: ${hostProblem}`, isTemporary: mayComeLater(code) }
  return { mistake: `${setting}: ${message}` }
}

/** Tests whether a host may be there later: the machine lacks the address, or the DNS does not answer. */
function mayComeLater(code: string | undefined): boolean {
  return code === 'EADDRNOTAVAIL' || code === 'EAI_AGAIN'
}

/**
 * Lists the mistakes of a start that fails again. Throws a {@link TemporaryFailure} if the reason is temporary, and a
 * {@link PinRefusal} if it is a refused PIN.
 */
export function listLastingMistakes({ mistake, isTemporary, isPinRefused }: OpeningFailure): readonly string[] {
  if (isPinRefused === true) throw new PinRefusal(mistake)
  if (isTemporary === true) throw new TemporaryFailure(mistake)
  return [mistake]
}

/** The exit status if a later start with the same settings may succeed: EX_TEMPFAIL of sysexits. */
export const TRY_LATER = 75

/** A start that may succeed later: the port is in use, or the database, a token or an address is unavailable. */
export class TemporaryFailure extends Error {}

/** The exit status if a later start with the same settings fails as well. */
export const REFUSED = 2

/** The exit status of a worker whose token refused the PIN, instead of {@link REFUSED}: EX_NOPERM of sysexits. */
export const PIN_REFUSED = 77

/** A start that may lock a token if it is repeated, because the token refused the PIN. */
export class PinRefusal extends Error {}

/** Reports why the service does not start now, in the log and to the operator. The exit status is {@link TRY_LATER}. */
export function reportTemporaryFailure(log: Logger, { message }: TemporaryFailure): void {
  log.fatal({ event: 'start_later', why: message }, 'not started now; start again later')
  process.stderr.write(`not started now; start again later:\n  - ${removeControlCharacters(message)}\n`)
  process.exitCode = TRY_LATER
}

/** Reports all mistakes, in the log and to the operator. The exit status is {@link REFUSED}. */
export function reportMistakes(log: Logger, configFile: string, mistakes: readonly string[]): void {
  const count = `${mistakes.length} mistake${mistakes.length === 1 ? '' : 's'}`
  log.fatal({ event: 'refused_to_start', mistakes }, `${configFile}: ${count}, not started`)
  const lines = mistakes.map((mistake) => `  - ${removeControlCharacters(mistake.replaceAll('\n', ' '))}\n`)
  const hints = configFileHints(configFile, mistakes).map((hint) => `${removeControlCharacters(hint)}\n`)
  process.stderr.write(`${configFile} cannot be used:\n${[...lines, ...hints].join('')}`)
  process.exitCode = REFUSED
}
