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
}

export interface ClientAuthentication {
  readonly anchors: readonly [Certificate, ...Certificate[]]
  readonly required: boolean
}

interface Settings {
  readonly walletProviderTrustAnchors?: string
  readonly walletAttestation?: Requirement
  readonly authorizationServer?: unknown
}

/**
 * Reads the settings, or returns all mistakes. The settings need trust anchors, and exclude an external authorization
 * server, which authenticates wallets itself.
 */
export function readClientAuthentication(
  { walletProviderTrustAnchors: directory, walletAttestation, authorizationServer }: Settings,
  files: Files,
  now: Date,
):
  | { readonly clientAuthentication: ClientAuthentication | undefined; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] } {
  const providers = readAnchorDirectory(PROVIDERS, directory, files, now)
  const contrary = contraryMistakes(directory, walletAttestation, authorizationServer !== undefined)
  if ('mistakes' in providers || contrary.length > 0) return { mistakes: [...mistakesOf(providers), ...contrary] }
  const [first, ...others] = providers.certificates
  const isRequired = walletAttestation === 'required'
  return {
    clientAuthentication: first && { anchors: [first, ...others], required: isRequired },
    warnings: [...providers.warnings, ...testProviderWarnings(providers.certificates)],
  }
}

function testProviderWarnings(anchors: readonly Certificate[]): string[] {
  const isForTests = anchors.some(({ subjectText }) => subjectText.startsWith(`CN=${TEST_PROVIDER_NAME} `))
  if (!isForTests) return []
  return [`${PROVIDERS}: ${TEST_PROVIDER_NAME} attests any wallet; take its certificate out before others use this`]
}

function contraryMistakes(directory: unknown, walletAttestation: unknown, hasServer: boolean): string[] {
  if (directory === undefined) {
    const how = 'needs walletProviderTrustAnchors, a directory with the certificates of wallet providers'
    return walletAttestation === undefined ? [] : [`walletAttestation: ${how}`]
  }
  const how = 'goes without authorizationServer, which gives the tokens and authenticates wallets itself'
  return hasServer ? [`${PROVIDERS}: ${how}`] : []
}
