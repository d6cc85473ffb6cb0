/** Access tokens: requests them, and sends them with requests. RFC 8414; OpenID4VCI 1.0, Token Endpoint. */
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../codec/json.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant-types.ts'
import { makeServerMetadataUrl, requireAddress } from './address.ts'
import { makeAttestationHeaders } from './client-attestation.ts'
import type { Step, WalletContext } from './context.ts'
import { type DpopKey, makeDpopKey, type ProofMembers, sendWithProof } from './dpop.ts'
import { refuseWith, WalletError } from './error.ts'
import { DPOP_NONCE_ERROR, type ExchangeRequest, exchangeJson } from './exchange.ts'
import type { IssuerDescription } from './issuer-metadata.ts'
import type { ReceivedOffer } from './offer.ts'

export interface AccessToken {
  readonly token: string
  /** The credential identifiers by configuration id, if the server uses them. */
  readonly credentialIdentifiers: ReadonlyMap<string, string>
  /** The key that the token is bound to; undefined for a Bearer token. */
  readonly dpop: DpopKey | undefined
  /** The refresh token, if the server issued one. */
  readonly refreshToken: string | undefined
  /** The client id of the token request, which a refresh needs too. */
  readonly clientId: string | undefined
}

/** A token endpoint, and the metadata of its authorization server. */
export interface TokenServer {
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly metadata: JsonObject
}

/**
 * Fetches the metadata of the authorization server: that in the offer, or else that of the issuer. Refuses with
 * `invalid_metadata`, and with `invalid_offer` if the issuer does not have the server in the offer.
 */
export async function fetchTokenServer(
  wallet: WalletContext,
  issuer: IssuerDescription,
  offer: Pick<ReceivedOffer, 'authorizationServer'>,
): Promise<TokenServer> {
  const [first = '', ...others] = issuer.authorizationServers
  const server = requireAddress(offer.authorizationServer ?? first, 'the authorization server', 'invalid_metadata')
  if (server !== first && !others.includes(server)) {
    refuseWith(
      'invalid_offer',
      `the offer names the authorization server ${server}, which the metadata of the issuer does not list`,
    )
  }
  const metadata = await exchangeJson(wallet, {
    what: 'fetched the metadata of the authorization server',
    means: 'Where a code becomes an access token. It must name the very server that the issuer named.',
    spec: 'RFC 8414 section 3',
    url: makeServerMetadataUrl(server),
  })
  if (memberOf(metadata, 'issuer') !== server) {
    refuseWith('invalid_metadata', `the metadata of the authorization server ${server} is about another issuer`)
  }
  const name = 'token_endpoint of the authorization server'
  const tokenEndpoint = requireAddress(memberOf(metadata, 'token_endpoint'), name, 'invalid_metadata')
  return { issuer: server, tokenEndpoint, metadata }
}

/** The errors of a server that gives DPoP tokens alone. RFC 9449 sections 5 and 8. */
const DPOP_ERRORS = ['invalid_dpop_proof', DPOP_NONCE_ERROR]

/**
 * Redeems the pre-authorized code, with the transaction code if the offer requires one. The token is bound to a key
 * only where the server refuses a request without a DPoP proof.
 */
export async function redeemPreAuthorizedCode(
  wallet: WalletContext,
  server: TokenServer,
  { code, txCode }: { readonly code: string; readonly txCode: string | undefined },
): Promise<AccessToken> {
  const form = {
    grant_type: PRE_AUTHORIZED_GRANT,
    'pre-authorized_code': code,
    ...(txCode === undefined ? {} : { tx_code: txCode }),
    // RFC 6749 section 3.2.1
    ...(wallet.clientId === undefined ? {} : { client_id: wallet.clientId }),
  }
  try {
    return await requestToken(wallet, server, form)
  } catch (error) {
    const wantsProof = error instanceof WalletError && DPOP_ERRORS.includes(error.server?.error ?? '')
    if (!wantsProof) throw error
    return requestToken(wallet, server, form, await makeDpopKey(wallet))
  }
}

const CODE_STEP = {
  what: 'exchanged the code for an access token',
  means: 'The code is spent: whoever finds it now can do nothing with it.',
  spec: 'OpenID4VCI 1.0, Token Request',
}
const REFRESH_STEP = {
  what: 'exchanged its refresh token for an access token',
  means: 'Nobody has to be asked again. The refresh token is spent, and the answer has the next one.',
  spec: 'RFC 6749 section 6',
}

/**
 * Sends a token request. With `dpop`, the token must be bound to that key. Refuses like {@link exchangeJson}, and with
 * `invalid_response` a token that the wallet cannot use.
 */
export async function requestToken(
  wallet: WalletContext,
  { tokenEndpoint: url, metadata }: TokenServer,
  form: Readonly<Record<string, string>>,
  dpop?: DpopKey,
): Promise<AccessToken> {
  const step = form.grant_type === REFRESH_GRANT ? REFRESH_STEP : CODE_STEP
  const answer = await sendForm(wallet, { url, metadata, dpop, step }, form)
  requireTokenType(stringMemberOf(answer, 'token_type')?.toLowerCase(), dpop)
  const token = stringMemberOf(answer, 'access_token')
  // RFC 6750 section 2.1: the allowed characters.
  if (!token || !/^[\w.~+/=-]+$/.test(token))
    return refuseWith('invalid_response', 'the token response has no usable access_token')
  return {
    token,
    credentialIdentifiers: readCredentialIdentifiers(answer),
    dpop,
    refreshToken: stringMemberOf(answer, 'refresh_token') || undefined,
    clientId: form.client_id,
  }
}

/** An endpoint of an authorization server, and how the wallet sends a form there. */
interface FormTarget {
  readonly url: string
  /** The metadata of the authorization server. */
  readonly metadata: JsonObject
  /** The key for a DPoP proof; undefined for a form without one. */
  readonly dpop: DpopKey | undefined
  readonly step: Pick<Step, 'what' | 'means' | 'spec'>
}

/**
 * Sends a form to an authorization server, with the attestation of the wallet if the server supports it. Refuses like
 * {@link exchangeJson}.
 */
export function sendForm(
  wallet: WalletContext,
  { url, metadata, dpop, step }: FormTarget,
  form: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  const send = async (proofMembers?: ProofMembers): Promise<JsonObject> =>
    exchangeJson(wallet, {
      ...proofMembers,
      headers: { ...(await makeAttestationHeaders(wallet, metadata)), ...proofMembers?.headers },
      ...step,
      url,
      body: new URLSearchParams(form),
      sent: Object.keys(form).join(', '),
    })
  return dpop === undefined ? send() : sendWithProof(wallet, dpop, { url }, send)
}

/** Sends a request with the access token, and with a DPoP proof if the token is bound. RFC 6750, RFC 9449. */
export function sendWithAccessToken<T>(
  wallet: WalletContext,
  { token, dpop }: AccessToken,
  request: ExchangeRequest,
  send: (request: ExchangeRequest) => Promise<T>,
): Promise<T> {
  const { headers } = request
  if (dpop === undefined) return send({ ...request, headers: { ...headers, authorization: `Bearer ${token}` } })
  return sendWithProof(wallet, dpop, { url: request.url, token }, (proofMembers) =>
    send({
      ...request,
      ...proofMembers,
      headers: { ...headers, authorization: `DPoP ${token}`, ...proofMembers.headers },
    }),
  )
}

function requireTokenType(type: string | undefined, dpop: DpopKey | undefined): void {
  const expectedType = dpop === undefined ? 'Bearer' : 'DPoP'
  if (type !== expectedType.toLowerCase())
    refuseWith('invalid_response', `token_type of the token response is not ${expectedType}`)
}

/**
 * Returns the credential identifiers, which must be used if the server sends them. OpenID4VCI 1.0, Successful Token
 * Response.
 */
function readCredentialIdentifiers(answer: JsonObject): ReadonlyMap<string, string> {
  const details = memberOf(answer, 'authorization_details')
  const entries = (Array.isArray(details) ? details : []).filter(isObject).flatMap((detail) => {
    const [id, identifiers] = [
      stringMemberOf(detail, 'credential_configuration_id'),
      memberOf(detail, 'credential_identifiers'),
    ]
    const [identifier] = Array.isArray(identifiers) ? identifiers : []
    return id !== undefined && typeof identifier === 'string' ? [[id, identifier] as const] : []
  })
  return new Map(entries)
}
