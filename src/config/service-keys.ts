/** Reads the keys of a service from the settings `signing` and `keys`. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import type { CertificatePurpose } from '../keys/certificate-purpose.ts'
import type { ServiceKeys, SigningKeys } from '../keys/key-ring.ts'
import { findCertificateWarnings, findPreviousWarnings } from './certificate-warnings.ts'
import type { Files } from './files.ts'
import { mistakesOf } from './mistakes.ts'
import { readSigningKey, SigningSetting, SigningSettings } from './signing.ts'

/** The setting `keys` of a verifier. An issuer has more keys. */
export const CommonKeys = Type.Object({ audit: Type.Optional(SigningSetting) }, { additionalProperties: false })

/** The setting `keys` of an issuer. */
export const IssuerKeys = Type.Object(
  {
    statusLists: Type.Optional(SigningSettings),
    accessTokens: Type.Optional(SigningSettings),
    metadata: Type.Optional(SigningSetting),
    audit: Type.Optional(SigningSetting),
  },
  { additionalProperties: false },
)

/** The settings of keys. */
export interface KeySettings {
  readonly signing: SigningSettings
  readonly keys?: Static<typeof IssuerKeys>
}

/** A configured key and its use. */
export interface NamedKey {
  /** The path of the setting. */
  readonly settingPath: string
  readonly purpose: CertificatePurpose
  readonly isPrevious: boolean
  readonly setting: SigningSetting
}

/** The keys of a configuration except its secrets, and warnings that begin with the paths of settings. */
export type ReadServiceKeys =
  | { readonly keys: Omit<ServiceKeys, 'secrets'>; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] }

/** Returns all configured keys. `signs` is the purpose that the certificate of `signing` must allow. */
export function namedKeys({ signing, keys = {} }: KeySettings, signs: 'credential' | 'request'): readonly NamedKey[] {
  const { statusLists, accessTokens, metadata, audit } = keys
  return [
    { settingPath: 'signing', purpose: signs, isPrevious: false, setting: signing },
    // The earlier keys of an issuer still sign status lists.
    ...previousKeys('signing', signs === 'credential' ? 'status' : signs, signing),
    ...ownKeys('keys.statusLists', 'status', statusLists),
    // Where keys.metadata is absent, this key signs the metadata too, and its certificate is in `x5c`.
    ...ownKeys('keys.accessTokens', 'metadata', accessTokens),
    ...ownKeys('keys.metadata', 'metadata', metadata),
    ...ownKeys('keys.audit', 'audit', audit),
  ]
}

/** Reads all configured keys, or returns all mistakes. */
export function readServiceKeys(
  settings: KeySettings,
  { signs, now }: { readonly signs: 'credential' | 'request'; readonly now: Date },
  files: Files,
): ReadServiceKeys {
  const keyResults = namedKeys(settings, signs).map(({ setting, ...use }) => ({
    ...use,
    result: readSigningKey({ ...use, now }, setting, files),
  }))
  const mistakes = mistakesOf(...keyResults.map(({ result }) => result))
  const usableKeys = keyResults.flatMap(({ result, ...use }) => ('mistakes' in result ? [] : [{ ...use, key: result }]))
  const keysAt = (path: string): SigningKeys | undefined => {
    const current = usableKeys.find(({ settingPath }) => settingPath === path)?.key
    const previous = usableKeys
      .filter(({ settingPath }) => settingPath.startsWith(`${path}.previous[`))
      .map(({ key }) => key)
    return current && { ...current, previous }
  }
  const signing = keysAt('signing')
  if (signing === undefined || mistakes.length > 0) return { mistakes }
  return {
    keys: {
      signing,
      statusLists: keysAt('keys.statusLists'),
      accessTokens: keysAt('keys.accessTokens'),
      metadata: keysAt('keys.metadata'),
      audit: keysAt('keys.audit'),
    },
    warnings: usableKeys.flatMap(({ settingPath, isPrevious, purpose, key }) => {
      if (isPrevious) return findPreviousWarnings(settingPath, key.chain, now)
      // The certificate of the audit key is only a container for the key, so warnings about it are left out.
      return purpose === 'audit' ? [] : findCertificateWarnings(settingPath, key.chain, now)
    }),
  }
}

function ownKeys(settingPath: string, purpose: CertificatePurpose, setting: SigningSettings | undefined): NamedKey[] {
  if (setting === undefined) return []
  return [{ settingPath, purpose, isPrevious: false, setting }, ...previousKeys(settingPath, purpose, setting)]
}

function previousKeys(
  settingPath: string,
  purpose: CertificatePurpose,
  { previous = [] }: SigningSettings,
): NamedKey[] {
  return previous.map((setting, index) => ({
    settingPath: `${settingPath}.previous[${index}]`,
    purpose,
    isPrevious: true,
    setting,
  }))
}
