/** The settings of wallet authentication: the trusted wallet providers, and whether attestations are required. */
import * as Type from 'typebox'
import type { Certificate } from '../keys/certificate.ts'
import { readAnchorDirectory } from './anchor-directory.ts'
import type { Files } from './files.ts'
import { mistakesOf } from './mistakes.ts'
import { makeRequirementSetting, type Requirement } from './requirement.ts'

const PROVIDERS = 'walletProviderTrustAnchors'

/** The name of a test provider, which attests any wallet. The name of its CA begins with it. */
export const TEST_PROVIDER_NAME = 'Test Wallet Provider'

export const clientAuthenticationSettings = {
  walletProviderTrustAnchors: Type.Optional(
    Type.String({
      description:
        'Directory of PEM files; every certificate in them is trusted to attest wallets, or to be the CA of one that is. Wallets may then authenticate themselves by wallet attestation',
    }),
  ),
  walletAttestation: makeRequirementSetting(
    'Whether wallets must authenticate themselves by wallet attestation; each may when absent',
  ),
  attestationChallenge: makeRequirementSetting(
    'Whether the proofs beside wallet attestations must have a challenge of this service; they must when absent. A proof without one is good for five minutes from its iat, once',
  ),
}

export interface ClientAuthentication {
  readonly anchors: readonly [Certificate, ...Certificate[]]
  readonly required: boolean
  /**
   * Whether a proof of possession must have a challenge; if false, a proof without one is limited by its age and its
   * single use.
   */
  readonly challengeRequired: boolean
}

interface Settings {
  readonly walletProviderTrustAnchors?: string
  readonly walletAttestation?: Requirement
  readonly attestationChallenge?: Requirement
  readonly authorizationServer?: unknown
}

/**
 * Reads the settings, or returns all mistakes. The settings need trust anchors, and exclude an external authorization
 * server, which authenticates wallets itself.
 */
export function readClientAuthentication(
  settings: Settings,
  files: Files,
  now: Date,
):
  | { readonly clientAuthentication: ClientAuthentication | undefined; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] } {
  const providers = readAnchorDirectory(PROVIDERS, settings.walletProviderTrustAnchors, files, now)
  const contrary = contraryMistakes(settings)
  if ('mistakes' in providers || contrary.length > 0) return { mistakes: [...mistakesOf(providers), ...contrary] }
  const [first, ...others] = providers.certificates
  return {
    clientAuthentication: first && {
      anchors: [first, ...others],
      required: settings.walletAttestation === 'required',
      challengeRequired: settings.attestationChallenge !== 'optional',
    },
    warnings: [...providers.warnings, ...testProviderWarnings(providers.certificates)],
  }
}

function testProviderWarnings(anchors: readonly Certificate[]): string[] {
  const isForTests = anchors.some(({ subjectText }) => subjectText.startsWith(`CN=${TEST_PROVIDER_NAME} `))
  if (!isForTests) return []
  return [`${PROVIDERS}: ${TEST_PROVIDER_NAME} attests any wallet; take its certificate out before others use this`]
}

function contraryMistakes(settings: Settings): string[] {
  if (settings.walletProviderTrustAnchors === undefined) {
    const how = 'needs walletProviderTrustAnchors, a directory with the certificates of wallet providers'
    const names = ['walletAttestation', 'attestationChallenge'] as const
    return names.filter((name) => settings[name] !== undefined).map((name) => `${name}: ${how}`)
  }
  const how = 'goes without authorizationServer, which gives the tokens and authenticates wallets itself'
  return settings.authorizationServer === undefined ? [] : [`${PROVIDERS}: ${how}`]
}
