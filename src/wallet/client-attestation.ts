/**
 * The attestation of this wallet by its provider, and the proof of the attested key that goes with each request to an
 * authorization server. OpenID4VCI 1.0, Wallet Attestations in JWT format; Attestation-Based Client Authentication.
 */
import { toBase64url } from '../codec/base64url.ts'
import { type JsonObject, own, ownString, stringsIn } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { requireAddress } from './address.ts'
import type { WalletAttestation, WalletContext } from './context.ts'
import { orRefuseWith, refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'

/** The name of this wallet where nobody attests it under another. */
export const PUBLIC_CLIENT = 'vouchsafe-wallet'

/**
 * Returns the headers by which the wallet authenticates itself to the server of the metadata; none where it has no
 * attestation, or the server takes none. Refuses with `invalid_metadata` and `invalid_response`.
 */
export async function makeAttestationHeaders(
  wallet: WalletContext,
  metadata: JsonObject,
): Promise<Readonly<Record<string, string>>> {
  const attestation = attestationFor(wallet, metadata)
  if (attestation === undefined) return {}
  const challenge = await fetchChallenge(wallet, own(metadata, 'challenge_endpoint'))
  const { alg } = attestation.key
  const payload = {
    aud: ownString(metadata, 'issuer') ?? '',
    jti: toBase64url(wallet.random(16)),
    iat: Math.floor(wallet.now().getTime() / 1000),
    ...(challenge && { challenge }),
  }
  const pop = await writeJws({ typ: 'oauth-client-attestation-pop+jwt', alg }, payload, (data) =>
    attestation.key.sign(data),
  )
  return { 'oauth-client-attestation': attestation.jwt, 'oauth-client-attestation-pop': pop }
}

/**
 * Returns the client id for the server of the metadata: the given one, or the name of the wallet in the attestation
 * that the server takes, or the name of this program.
 */
export function clientIdFor(wallet: WalletContext, metadata: JsonObject): string {
  const attestation = attestationFor(wallet, metadata)
  if (wallet.clientId !== undefined || attestation === undefined) return wallet.clientId ?? PUBLIC_CLIENT
  const what = 'the attestation of this wallet'
  const { payload } = orRefuseWith('unsupported', what, () => readJws(attestation.jwt))
  return ownString(payload, 'sub') || refuseWith('unsupported', `${what} does not name the wallet (sub)`)
}

/** Returns the attestation, where the server of the metadata takes one. */
function attestationFor({ attestation }: WalletContext, metadata: JsonObject): WalletAttestation | undefined {
  const methods = stringsIn(own(metadata, 'token_endpoint_auth_methods_supported') ?? [])
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
    ownString(answer, 'attestation_challenge') ??
    refuseWith('invalid_response', 'the answer has no attestation_challenge')
  )
}
