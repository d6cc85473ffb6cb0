/**
 * The HAIP profile of an issuer: its requirements for settings, credential configurations and sessions. The service
 * meets the other requirements of HAIP always. HAIP 1.0, OpenID for Verifiable Credential Issuance.
 */
import * as Type from 'typebox'
import { parseUrl } from '../codec/url.ts'
import { findSelfSignedMistakes } from '../config/haip-certificates.ts'
import type { Requirement } from '../config/requirement.ts'
import { haipFormats } from '../credential/formats.ts'
import { metadataKeyOf, type ServiceKeys } from '../keys/key-ring.ts'
import { algorithmOf, algorithms, joseAlgorithms } from '../keys/signature.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { isLoopback } from '../protocol/private-host.ts'

export const ProfileSetting = Type.Literal('haip', {
  description:
    '`haip`: only what HAIP 1.0 allows: the authorization code flow with pushed requests, DPoP and wallet attestations, and credentials of its formats with a scope',
})

/** The settings that the profile affects. */
export interface ProfiledSettings {
  readonly profile?: 'haip'
  readonly authentication?: unknown
  readonly authorizationServer?: unknown
  readonly walletProviderTrustAnchors?: string
  readonly dpop?: Requirement
  readonly walletAlgorithms?: readonly string[]
  readonly pushedAuthorizationRequests?: Requirement
  readonly walletAttestation?: Requirement
  readonly compatibility?: readonly string[]
  readonly clockSkewSeconds?: number
  readonly redirectUris?: readonly string[]
}

/** The supported algorithms among those of FAPI 2.0 Security Profile, Cryptography and secrets. */
const ALGORITHMS: readonly string[] = [...algorithms.ES256.jose, ...algorithms.EdDSA.jose]
/** The limits of the clock skew. FAPI 2.0 Security Profile, Requirements for authorization servers. */
const CLOCK_SKEW = { least: 10, most: 60 }
const REQUIRED_SETTINGS = ['dpop', 'pushedAuthorizationRequests', 'walletAttestation'] as const

/** Adds the settings that the profile requires, unless they are set. */
export function addProfileDefaults<T extends ProfiledSettings>(settings: T): T {
  if (settings.profile !== 'haip') return settings
  return {
    dpop: 'required',
    // An external authorization server receives the requests itself.
    ...(settings.authentication !== undefined && { pushedAuthorizationRequests: 'required' }),
    ...(settings.walletProviderTrustAnchors !== undefined && { walletAttestation: 'required' }),
    ...settings,
  }
}

/** Returns the mistakes of the settings under the profile, each with its path. */
export function findProfileMistakes(settings: ProfiledSettings): string[] {
  if (settings.profile !== 'haip') return []
  const { authentication, authorizationServer, walletProviderTrustAnchors: providers, compatibility = [] } = settings
  const isOwnServer = authorizationServer === undefined
  return [
    ...(isOwnServer && authentication === undefined
      ? [
          'authentication: the profile haip needs the authorization code flow; say who asks people, by authentication.interactionUrl or authentication.openidConnect',
        ]
      : []),
    ...(isOwnServer && providers === undefined
      ? [
          'walletProviderTrustAnchors: the profile haip needs wallets that authenticate themselves; name a directory with the certificates of their providers',
        ]
      : []),
    ...REQUIRED_SETTINGS.filter((name) => settings[name] === 'optional').map(
      (name) => `${name}: the profile haip needs it; set it to "required", or leave it out`,
    ),
    ...walletAlgorithmMistakes(settings.walletAlgorithms),
    ...clockMistakes(settings.clockSkewSeconds),
    ...redirectUriMistakes(settings.redirectUris),
    ...(compatibility.length > 0
      ? ['compatibility: the profile haip has the final specification alone; leave older drafts out']
      : []),
  ]
}

function clockMistakes(seconds: number = CLOCK_SKEW.most): string[] {
  const { least, most } = CLOCK_SKEW
  return seconds >= least && seconds <= most
    ? []
    : [`clockSkewSeconds: the profile haip needs ${least} to ${most}; set it, or leave it out`]
}

/** Returns the mistakes of redirect URIs. FAPI 2.0 Security Profile, Authorization code flow. */
function redirectUriMistakes(uris: readonly string[] = []): string[] {
  return uris.flatMap((uri, index) => {
    const url = parseUrl(uri)
    const isPlain = url?.protocol === 'http:' && !isLoopback(url.hostname)
    return isPlain ? [`redirectUris[${index}]: the profile haip needs https, unless the wallet is on this machine`] : []
  })
}

/** Returns the algorithms that DPoP proofs, wallet attestations and their proofs may have. */
export function tokenAlgorithmsOf(profile: 'haip' | undefined): readonly string[] {
  return profile === 'haip' ? ALGORITHMS : joseAlgorithms
}

/** Returns a mistake unless ES256 is accepted. HAIP 1.0, Crypto Suites. */
function walletAlgorithmMistakes(names: readonly string[] = ALGORITHMS): string[] {
  return names.includes('ES256')
    ? []
    : ['walletAlgorithms: the profile haip needs ES256; add it, or leave the setting out']
}

/**
 * Returns the mistakes of keys under the profile: a self-signed certificate, and a key of access tokens whose algorithm
 * FAPI 2.0 does not allow.
 */
export function findProfileKeyMistakes(serviceKeys: ServiceKeys): string[] {
  const { signing, statusLists, accessTokens } = serviceKeys
  const [metadataPath, metadata] = metadataKeyOf(serviceKeys)
  const keys = { signing, 'keys.statusLists': statusLists, [metadataPath]: metadata }
  const algorithm = algorithmOf((accessTokens ?? signing).chain[0].publicKey) ?? ''
  const tokenKeyMistakes = ALGORITHMS.includes(algorithm)
    ? []
    : [
        `keys.accessTokens: the profile haip has access tokens by ES256 or EdDSA, and not by ${algorithm}; name a key of P-256`,
      ]
  return [...tokenKeyMistakes, ...findSelfSignedMistakes('issuer', keys)]
}

/** Returns why the profile excludes a configuration, with the path; undefined if it does not. */
export function profileProblem({ format, scope }: CredentialConfiguration): string | undefined {
  if (!haipFormats.includes(format)) return `format: the profile haip has ${haipFormats.join(' and ')} alone`
  return scope ? undefined : 'scope: the profile haip needs one for every configuration; wallets ask by it'
}
