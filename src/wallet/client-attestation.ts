/**
 * The attestation of this wallet by its provider, and the proof of the attested key that goes with each request to an
 * authorization server. OpenID4VCI 1.0, Wallet Attestations in JWT format; Attestation-Based Client Authentication.
 */
import { toBase64url } from '../codec/base64url.ts'
import { type JsonObject, own, ownString, stringsIn } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { requireAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { abort } from './error.ts'
import { exchangeJson } from './exchange.ts'

/**
 * The headers by which the wallet authenticates itself to the server of the metadata; none where it has no attestation,
 * or the server takes none. Refuses with `invalid_metadata` and `invalid_response`.
 */
export async function attestationHeaders(
  wallet: WalletContext,
  metadata: JsonObject,
): Promise<Readonly<Record<string, string>>> {
  const { attestation } = wallet
  const methods = stringsIn(own(metadata, 'token_endpoint_auth_methods_supported') ?? [])
  if (attestation === undefined || !methods.includes('attest_jwt_client_auth')) return {}
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
    ownString(answer, 'attestation_challenge') ?? abort('invalid_response', 'the answer has no attestation_challenge')
  )
}
