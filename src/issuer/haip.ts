/**
 * The profile HAIP of an issuer: what it demands of the settings, of what is declared, and of sessions. Everything else
 * that it demands is so for every issuer of this service. HAIP 1.0, OpenID for Verifiable Credential Issuance.
 */
import * as Type from 'typebox'
import { haipFormats } from '../credential/formats.ts'
import { algorithmOf, algorithms, joseAlgorithms } from '../keys/algorithm.ts'
import { type Certificate, isSelfSigned } from '../keys/certificate.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'

export const ProfileSetting = Type.Literal('haip', {
  description:
    '`haip`: only what HAIP 1.0 allows: the authorization code flow with pushed requests, DPoP and wallet attestations, and credentials of its formats with a scope',
})

type Requirement = 'optional' | 'required'

/** The settings that the profile is about. */
export interface ProfiledSettings {
  readonly profile?: 'haip'
  readonly authentication?: unknown
  readonly authorizationServer?: unknown
  readonly walletProviderTrustAnchors?: string
  readonly dpop?: Requirement
  readonly pushedAuthorizationRequests?: Requirement
  readonly walletAttestation?: Requirement
  readonly compatibility?: readonly string[]
}

/** The algorithms of FAPI 2.0 Security Profile, Cryptography and secrets, as far as they are ours. */
const ALGORITHMS: readonly string[] = [...algorithms.ES256.jose, ...algorithms.EdDSA.jose]
const REQUIRED_SETTINGS = ['dpop', 'pushedAuthorizationRequests', 'walletAttestation'] as const

/** Adds what the profile demands, where the settings say nothing of it. */
export function addProfileDefaults<T extends ProfiledSettings>(settings: T): T {
  if (settings.profile !== 'haip') return settings
  return {
    dpop: 'required',
    // Another server takes the requests, where there is one.
    ...(settings.authentication !== undefined && { pushedAuthorizationRequests: 'required' }),
    ...(settings.walletProviderTrustAnchors !== undefined && { walletAttestation: 'required' }),
    ...settings,
  }
}

/** Finds what the settings lack or have against the profile, each with its path. */
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
    ...(compatibility.length > 0
      ? ['compatibility: the profile haip has the final specification alone; leave older drafts out']
      : []),
  ]
}

/** Returns the algorithms of the JWTs by which wallets get and use tokens. */
export function tokenAlgorithms(profile: 'haip' | undefined): readonly string[] {
  return profile === 'haip' ? ALGORITHMS : joseAlgorithms
}

/**
 * Finds certificates that wallets of the profile refuse: a self-signed one is its own trust anchor, which must not be
 * sent. HAIP 1.0, SD-JWT VC: x5c. Finds a key of access tokens whose algorithm FAPI 2.0 does not have.
 */
export function findProfileKeyMistakes({ signing, statusLists, accessTokens, metadata }: ServiceKeys): string[] {
  const keys = { signing, 'keys.statusLists': statusLists, 'keys.metadata': metadata }
  const algorithm = algorithmOf((accessTokens ?? signing).chain[0].publicKey) ?? ''
  const algorithmMistakes = ALGORITHMS.includes(algorithm)
    ? []
    : [
        `keys.accessTokens: the profile haip has access tokens by ES256 or EdDSA, and not by ${algorithm}; name a key of P-256`,
      ]
  const certificateMistakes = Object.entries(keys).flatMap(([path, key]) => {
    const leaf: Certificate | undefined = key?.chain[0]
    if (leaf === undefined || !isSelfSigned(leaf)) return []
    return [
      `${path}: the profile haip needs a certificate of a CA, and ${leaf.subjectText} is self-signed; get one, or make a test CA with vouchsafe init issuer --profile haip`,
    ]
  })
  return [...algorithmMistakes, ...certificateMistakes]
}

/** Says why a configuration cannot be offered under the profile, with the path in it; undefined when it can. */
export function profileProblem({ format, scope }: CredentialConfiguration): string | undefined {
  if (!haipFormats.includes(format)) return `format: the profile haip has ${haipFormats.join(' and ')} alone`
  return scope ? undefined : 'scope: the profile haip needs one for every configuration; wallets ask by it'
}
