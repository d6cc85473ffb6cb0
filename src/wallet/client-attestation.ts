/**
 * The attestation of this wallet by its provider, and the proof of possession for each request to an authorization
 * server. OpenID4VCI 1.0, Wallet Attestations in JWT format; Attestation-Based Client Authentication.
 */
import { toBase64url } from '../codec/base64url.ts'
import { type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import { requireAddress } from './address.ts'
import type { WalletAttestation, WalletContext } from './context.ts'
import { readOrRefuseWith, refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'

/** The client id of this wallet without an attestation. */
export const PUBLIC_CLIENT = 'vouchsafe-wallet'

/**
 * Makes the headers that authenticate the wallet to an authorization server; none if the wallet has no attestation or
 * the server does not support it. Refuses with `invalid_metadata`, `invalid_response` and `unsupported`.
 */
export async function makeAttestationHeaders(
  wallet: WalletContext,
  metadata: JsonObject,
): Promise<Readonly<Record<string, string>>> {
  const attestation = attestationFor(wallet, metadata)
  if (attestation === undefined) return {}
  const challenge = await fetchChallenge(wallet, memberOf(metadata, 'challenge_endpoint'))
  const { alg } = attestation.key
  const payload = {
    // Draft 7, which HAIP 1.0 names, requires `iss`; later drafts have none.
    iss: clientIdOf(attestation),
    aud: stringMemberOf(metadata, 'issuer') ?? '',
    jti: toBase64url(wallet.random(16)),
    iat: epochSeconds(wallet.now()),
    ...(challenge && { challenge }),
  }
  const pop = await writeJws({ typ: 'oauth-client-attestation-pop+jwt', alg }, payload, (data) =>
    attestation.key.sign(data),
  )
  return { 'oauth-client-attestation': attestation.jwt, 'oauth-client-attestation-pop': pop }
}

/**
 * Returns the client id for an authorization server: the configured one, or that in the attestation if the server
 * supports it, or {@link PUBLIC_CLIENT}.
 */
export function chooseClientId(wallet: WalletContext, metadata: JsonObject): string {
  const attestation = attestationFor(wallet, metadata)
  if (wallet.clientId !== undefined || attestation === undefined) return wallet.clientId ?? PUBLIC_CLIENT
  return clientIdOf(attestation)
}

/** Returns the client id in an attestation. Refuses with `unsupported` an attestation without one. */
function clientIdOf({ jwt }: WalletAttestation): string {
  const what = 'the attestation of this wallet'
  const { payload } = readOrRefuseWith('unsupported', what, () => readJws(jwt))
  return stringMemberOf(payload, 'sub') || refuseWith('unsupported', `${what} does not name the wallet (sub)`)
}

/** Returns the attestation, if the server supports attestations. */
function attestationFor({ attestation }: WalletContext, metadata: JsonObject): WalletAttestation | undefined {
  const methods = stringsIn(memberOf(metadata, 'token_endpoint_auth_methods_supported') ?? [])
  return methods.includes('attest_jwt_client_auth') ? attestation : undefined
}

async function fetchChallenge(wallet: WalletContext, endpoint: unknown): Promise<string | undefined> {
  if (endpoint === undefined) return undefined
  const answer = await exchangeJson(wallet, {
    what: 'fetched a challenge',
    means: 'The proof that the wallet has the key that its provider attests is then good for the next minutes only.',
    spec: 'Attestation-Based Client Authentication, Challenges',
    url: requireAddress(endpoint, 'challenge_endpoint of the authorization server', 'invalid_metadata'),
    body: '',
  })
  return (
    stringMemberOf(answer, 'attestation_challenge') ??
    refuseWith('invalid_response', 'the answer has no attestation_challenge')
  )
}
