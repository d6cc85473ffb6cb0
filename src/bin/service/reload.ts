/**
 * SIGHUP: reads certificates, trust anchors and the key of `tls` again, while requests are served. Another key of a
 * different setting, and a change of the configuration file, need a restart.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { CommonConfig, ReadResult } from '../../config/common.ts'
import { ENCRYPTION_KEYS_SETTING } from '../../config/encryption-keys.ts'
import { SECRETS_SETTING } from '../../config/secrets-file.ts'
import { publicJwkOf, thumbprint } from '../../keys/jwk.ts'
import { listKeys, type SigningKey } from '../../keys/key-ring.ts'
import type { Signals } from './stopping.ts'

const NEEDS_RESTART = 'restart the service to use it'

export interface ReloadSignal {
  /** Sets the function for each signal. Calls it at once if a signal arrived before. */
  setAction(renewal: () => void): void
}

/** Handles SIGHUP from the start of the process, which the signal would otherwise end. */
export function createReloadSignal(signals: Signals): ReloadSignal {
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

/** Reads the files of the settings again. */
export interface Rereading<Config> {
  /** Reads the files of the settings that the service started with. */
  readonly readSettings: () => ReadResult<Config>
  /** Returns the changes that require a restart, as mistakes. */
  readonly findRestartMistakes: (config: Config) => readonly string[]
}

/** Renews all files, or none: if there is a mistake, the service continues unchanged, and the mistake is logged. */
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

/** Reads the files of the settings again. A change that requires a restart is a mistake. */
export function rereadSettings<Config>({ readSettings, findRestartMistakes }: Rereading<Config>): ReadResult<Config> {
  try {
    const result = readSettings()
    const mistakes = 'mistakes' in result ? [] : findRestartMistakes(result.config)
    return mistakes.length > 0 ? { mistakes } : result
  } catch (error) {
    return { mistakes: [(error as Error).message] }
  }
}

/** Returns a mistake for each setting whose keys have changed. */
export function findKeyMistakes(before: CommonConfig, after: CommonConfig): string[] {
  const keysAfter = new Map(listKeys(after.keys))
  const changedKeys = listKeys(before.keys).filter(([path, key]) => kidOf(keysAfter.get(path)) !== kidOf(key))
  const keyLists = [
    [SECRETS_SETTING, before.keys.secrets, after.keys.secrets],
    [ENCRYPTION_KEYS_SETTING, before.encryptionKeys, after.encryptionKeys],
  ] as const
  const changedLists = keyLists.filter(([, keysBefore, keysAfter]) => !isDeepStrictEqual(keysBefore, keysAfter))
  return [
    ...changedKeys.map(([path, key]) => `${path}.${describeChange(key)}; ${NEEDS_RESTART}`),
    ...changedLists.map(([path]) => `${path}: the keys have changed since the start; ${NEEDS_RESTART}`),
  ]
}

/** Describes that a setting has another key. The key of a token is known by its certificate alone. */
function describeChange(key: SigningKey): string {
  return 'pkcs11Key' in key
    ? 'certificateFiles[0]: the certificate is of another key than at the start'
    : 'keyFile: the key has changed since the start'
}

/** Returns the thumbprint of a key; undefined without a key. */
function kidOf(key: SigningKey | undefined): string | undefined {
  return key && thumbprint(publicJwkOf(key.chain[0].publicKey))
}
