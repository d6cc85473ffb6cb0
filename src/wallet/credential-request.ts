/**
 * Requests credentials: fetches a nonce, makes the key proofs, and sends the request. OpenID4VCI 1.0, Credential
 * Endpoint.
 */
import { type JsonObject, stringMemberOf } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import type { Signer } from '../keys/signer.ts'
import { type AccessToken, sendWithAccessToken } from './access-token.ts'
import type { WalletContext } from './context.ts'
import { exchangeMembers } from './credential-encryption.ts'
import { refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'
import type { IssuerDescription, OfferedCredential } from './issuer-metadata.ts'
import { proofHeader } from './proof-key.ts'

/** Requests a credential for each key. Returns the response, which may be deferred. */
export async function sendCredentialRequest(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offeredCredential: OfferedCredential,
  access: { readonly accessToken: AccessToken; readonly holders: readonly Signer[] },
): Promise<JsonObject> {
  const nonce = await fetchNonce(wallet, issuer)
  const proofs = await makeProofs(wallet, issuer, offeredCredential, { nonce, holders: access.holders })
  const { credentialIdentifiers } = access.accessToken
  const identifier = credentialIdentifiers.get(offeredCredential.configurationId)
  const selector = identifier
    ? { credential_identifier: identifier }
    : { credential_configuration_id: offeredCredential.configurationId }
  const exchange = {
    what: 'requested the credential',
    means: meaningOf(offeredCredential),
    spec: 'OpenID4VCI 1.0, Credential Request',
    url: issuer.credentialEndpoint,
    sent: `${Object.keys(selector).join()}, proofs.jwt; the access token`,
  }
  return sendWithAccessToken(wallet, access.accessToken, exchange, (request) =>
    exchangeMembers(wallet, request, issuer.encryption, { ...selector, proofs: { jwt: proofs } }),
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
  return (
    stringMemberOf(answer, 'c_nonce') ||
    refuseWith('invalid_response', 'the answer of the nonce endpoint has no c_nonce')
  )
}

function meaningOf({ proofKey }: OfferedCredential): string {
  const bindingText =
    'A key made for this credential alone signed the nonce; the issuer binds the credential to that key.'
  return proofKey.attestation === undefined
    ? bindingText
    : `${bindingText} The maker of the wallet vouches for the keys.`
}

/**
 * Makes a proof for each key; or one proof with the attestation of all keys, if the issuer requires attestations.
 * OpenID4VCI 1.0, jwt Proof Type: `key_attestation`.
 */
async function makeProofs(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offeredCredential: OfferedCredential,
  { nonce, holders }: { readonly nonce: string | undefined; readonly holders: readonly Signer[] },
): Promise<string[]> {
  const { attestation: requirements } = offeredCredential.proofKey
  const makeProof = (holder: Signer, header = {}) =>
    makeKeyProof(wallet, issuer, offeredCredential, { nonce, holder, header })
  const [first] = holders
  if (requirements === undefined || first === undefined || wallet.attestKeys === undefined) {
    return Promise.all(holders.map((holder) => makeProof(holder)))
  }
  const keys = holders.map(({ jwk }) => jwk)
  return [await makeProof(first, { key_attestation: await wallet.attestKeys(keys, { nonce, requirements }) })]
}

/** Makes a key proof, without `iss` since the client is anonymous. OpenID4VCI 1.0, jwt Proof Type. */
function makeKeyProof(
  { now }: WalletContext,
  { credentialIssuer }: IssuerDescription,
  { proofKey }: OfferedCredential,
  {
    nonce,
    holder,
    header,
  }: { readonly nonce: string | undefined; readonly holder: Signer; readonly header: JsonObject },
): Promise<string> {
  return writeJws(
    { typ: 'openid4vci-proof+jwt', ...proofHeader(proofKey, holder.jwk), ...header },
    {
      aud: credentialIssuer,
      iat: epochSeconds(now()),
      ...(nonce === undefined ? {} : { nonce }),
    },
    (data) => holder.sign(data),
  )
}
