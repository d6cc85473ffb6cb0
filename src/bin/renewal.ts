/**
 * SIGHUP: the certificates and the trust anchors are read again, while requests go on. The configuration file itself,
 * and keys, change with a restart alone.
 */
import type { Logger } from 'pino'
import type { CommonConfig, ReadResult } from '../config/common.ts'
import { publicJwkOf, thumbprint } from '../keys/jwk.ts'
import { listKeys } from '../keys/key-ring.ts'
import type { Signals } from './stopping.ts'

export interface Hangup {
  /** Calls `renewal` at each signal from now on, and at once when a signal came before. */
  setAction(renewal: () => void): void
}

/** Handles SIGHUP from the beginning, since the signal alone would end the process. */
export function createHangup(signals: Signals): Hangup {
  let [action, wasMissed]: [(() => void) | undefined, boolean] = [undefined, false]
  signals.on('SIGHUP', () => {
    if (action === undefined) wasMissed = true
    else action()
  })
  return {
    setAction: (renewal) => {
      action = renewal
      if (wasMissed) renewal()
    },
  }
}

interface Renewable<Config> {
  renew(config: Config): void
}

/** The files of the settings, read anew. */
export interface Rereading<Config> {
  /** Reads the settings of the start with their files as they are now. */
  readonly readSettings: () => ReadResult<Config>
  /** Returns the changes since the start that need a restart, as mistakes. */
  readonly findRestartMistakes: (config: Config) => readonly string[]
}

/**
 * Renews all of the files, or none: with a mistake in one, the service goes on as it was, and the log says where it is.
 */
export function renew<Config>(service: Renewable<Config>, rereading: Rereading<Config>, log: Logger): void {
  const result = rereadSettings(rereading)
  if ('mistakes' in result) {
    const { mistakes } = result
    log.error({ event: 'renewal_failed', mistakes }, 'certificates and trust anchors stay as they were')
    return
  }
  try {
    service.renew(result.config)
  } catch (err) {
    log.error({ event: 'renewal_failed', err }, 'certificates and trust anchors stay as they were')
    return
  }
  for (const warning of result.warnings) log.warn({ event: 'configuration_warning', warning }, warning)
  log.info({ event: 'renewed' }, 'certificates and trust anchors were read again')
}

/** Reads the files of the settings as they are now; a change that needs a restart is a mistake. */
export function rereadSettings<Config>({ readSettings, findRestartMistakes }: Rereading<Config>): ReadResult<Config> {
  try {
    const result = readSettings()
    const mistakes = 'mistakes' in result ? [] : findRestartMistakes(result.config)
    return mistakes.length > 0 ? { mistakes } : result
  } catch (error) {
    return { mistakes: [(error as Error).message] }
  }
}

/** Lists the settings whose key is another than at the start. */
export function signingKeyMistakes(before: CommonConfig, after: CommonConfig): string[] {
  const kidsAfter = new Map(kidsOf(after))
  return kidsOf(before)
    .filter(([path, kid]) => kidsAfter.get(path) !== kid)
    .map(([path]) => `${path}.keyFile: the key is another than at the start; a new one is taken with a restart`)
}

/** Returns the thumbprint of each key, by the path of its setting. */
function kidsOf({ keys }: CommonConfig): [path: string, kid: string][] {
  return listKeys(keys).map(
    ([
      path,
      {
        chain: [leaf],
      },
    ]) => [path, thumbprint(publicJwkOf(leaf.publicKey))],
  )
}
