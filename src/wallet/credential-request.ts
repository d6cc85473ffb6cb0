/**
 * Requests a credential: a fresh nonce, a proof of possession of each key, and the request. OpenID4VCI 1.0, Credential
 * Endpoint.
 */
import { type JsonObject, ownString } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import type { Signer } from '../keys/signer.ts'
import { type AccessToken, withAccessToken } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { exchangeEncrypted } from './credential-encryption.ts'
import { abort } from './error.ts'
import { exchangeJson } from './exchange.ts'
import type { IssuerDescription, OfferedCredential } from './issuer-metadata.ts'
import { proofHeader } from './proof-key.ts'

/** Requests a credential for each key, and returns the answer, which may only say that the issuer decides later. */
export async function sendCredentialRequest(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offered: OfferedCredential,
  by: { readonly accessToken: AccessToken; readonly holders: readonly Signer[] },
): Promise<JsonObject> {
  const nonce = await fetchNonce(wallet, issuer)
  const proofs = await Promise.all(by.holders.map((holder) => makeKeyProof(wallet, issuer, offered, { nonce, holder })))
  const { credentialIdentifiers } = by.accessToken
  const identifier = credentialIdentifiers.get(offered.configurationId)
  const selector = identifier
    ? { credential_identifier: identifier }
    : { credential_configuration_id: offered.configurationId }
  const { encryption } = issuer
  const members = { ...selector, proofs: { jwt: proofs } }
  const sent = `${Object.keys(selector).join()}, proofs.jwt; the access token`
  const ask = {
    what: 'requested the credential',
    means: 'A key made for this credential alone signed the nonce; the issuer binds the credential to that key.',
    spec: 'OpenID4VCI 1.0, Credential Request',
    url: issuer.credentialEndpoint,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(members),
    sent: encryption === undefined ? sent : `encrypted: ${sent}`,
  }
  return withAccessToken(wallet, by.accessToken, ask, (request) =>
    encryption === undefined ? exchangeJson(wallet, request) : exchangeEncrypted(wallet, request, encryption, members),
  )
}

async function fetchNonce(wallet: WalletContext, { nonceEndpoint }: IssuerDescription): Promise<string | undefined> {
  if (nonceEndpoint === undefined) return undefined
  const answer = await exchangeJson(wallet, {
    what: 'fetched a nonce',
    means: 'A number that the issuer accepts once, so that nobody can use our proof of possession again.',
    spec: 'OpenID4VCI 1.0, Nonce Endpoint',
    url: nonceEndpoint,
    body: '',
  })
  return ownString(answer, 'c_nonce') || abort('invalid_response', 'the answer of the nonce endpoint has no c_nonce')
}

/** Creates the key proof. It has no `iss`, since the wallet is anonymous. OpenID4VCI 1.0, jwt Proof Type. */
function makeKeyProof(
  { now }: WalletContext,
  { credentialIssuer }: IssuerDescription,
  { proofKey }: OfferedCredential,
  { nonce, holder }: { readonly nonce: string | undefined; readonly holder: Signer },
): Promise<string> {
  return writeJws(
    { typ: 'openid4vci-proof+jwt', ...proofHeader(proofKey, holder.jwk) },
    {
      aud: credentialIssuer,
      iat: Math.floor(now().getTime() / 1000),
      ...(nonce === undefined ? {} : { nonce }),
    },
    (data) => holder.sign(data),
  )
}
