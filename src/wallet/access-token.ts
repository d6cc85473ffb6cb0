/** Access tokens: how the wallet gets one, and sends it. RFC 8414; OpenID4VCI 1.0, Token Endpoint. */
import { isObject, type JsonObject, own, ownString } from '../codec/json.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant.ts'
import { makeWellKnownUrl, requireAddress } from './address.ts'
import { makeAttestationHeaders } from './client-attestation.ts'
import type { WalletContext } from './context.ts'
import { type DpopKey, type ProofMembers, sendWithProof } from './dpop.ts'
import { refuseWith } from './error.ts'
import { type ExchangeRequest, exchangeJson } from './exchange.ts'
import type { IssuerDescription } from './issuer-metadata.ts'
import type { ReceivedOffer } from './offer.ts'

export interface AccessToken {
  readonly token: string
  /** The credential identifiers by configuration id, when the server uses them. */
  readonly credentialIdentifiers: ReadonlyMap<string, string>
  /** The key that the token is bound to; a Bearer token has none. */
  readonly dpop: DpopKey | undefined
  /** The token for the next access token, when the server gives one. */
  readonly refreshToken: string | undefined
  /** The client id of the token request, which the next one needs too. */
  readonly clientId: string | undefined
}

/** A token endpoint, and the metadata of its authorization server. */
export interface TokenServer {
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly metadata: JsonObject
}

/**
 * Fetches the metadata of the authorization server that the offer names, or else the issuer. Refuses with
 * `invalid_metadata`, and with `invalid_offer` an offer that names a server which is not one of the issuer.
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
    url: makeWellKnownUrl(server, 'oauth-authorization-server'),
  })
  if (own(metadata, 'issuer') !== server) {
    refuseWith('invalid_metadata', `the metadata of the authorization server ${server} is about another issuer`)
  }
  const name = 'token_endpoint of the authorization server'
  const tokenEndpoint = requireAddress(own(metadata, 'token_endpoint'), name, 'invalid_metadata')
  return { issuer: server, tokenEndpoint, metadata }
}

/** Redeems the pre-authorized code, which is valid once; with the transaction code, when the offer requires one. */
export async function redeemCode(
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
  return requestToken(wallet, server, form)
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
 * Sends a token request; with `dpop`, the token has to be bound to that key. Refuses like {@link exchangeJson}, and
 * with `unsupported` or `invalid_response` a token that this wallet cannot use.
 */
export async function requestToken(
  wallet: WalletContext,
  { tokenEndpoint: url, metadata }: TokenServer,
  form: Readonly<Record<string, string>>,
  dpop?: DpopKey,
): Promise<AccessToken> {
  const send = async (proofMembers?: ProofMembers): Promise<JsonObject> =>
    exchangeJson(wallet, {
      ...proofMembers,
      headers: { ...(await makeAttestationHeaders(wallet, metadata)), ...proofMembers?.headers },
      ...(form.grant_type === REFRESH_GRANT ? REFRESH_STEP : CODE_STEP),
      url,
      body: new URLSearchParams(form),
      sent: Object.keys(form).join(', '),
    })
  const answer = await (dpop === undefined ? send() : sendWithProof(wallet, dpop, { url }, send))
  requireTokenType(ownString(answer, 'token_type')?.toLowerCase(), dpop)
  const token = ownString(answer, 'access_token')
  // RFC 6750 section 2.1: only characters that fit into the header.
  if (!token || !/^[\w.~+/=-]+$/.test(token))
    return refuseWith('invalid_response', 'the token response has no usable access_token')
  return {
    token,
    credentialIdentifiers: readCredentialIdentifiers(answer),
    dpop,
    refreshToken: ownString(answer, 'refresh_token') || undefined,
    clientId: form.client_id,
  }
}

/** Sends the request with the access token, and with a proof of its key where it has one. RFC 6750, RFC 9449. */
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
  if (dpop === undefined && type === 'dpop') {
    refuseWith(
      'unsupported',
      'the issuer wants DPoP tokens, and this wallet has them in the authorization code flow alone',
    )
  }
  const expectedType = dpop === undefined ? 'Bearer' : 'DPoP'
  if (type !== expectedType.toLowerCase())
    refuseWith('invalid_response', `token_type of the token response is not ${expectedType}`)
}

/**
 * Reads the credential identifiers, which must be used whenever the server sends them. OpenID4VCI 1.0, Successful Token
 * Response.
 */
function readCredentialIdentifiers(answer: JsonObject): ReadonlyMap<string, string> {
  const details = own(answer, 'authorization_details')
  const entries = (Array.isArray(details) ? details : []).filter(isObject).flatMap((detail) => {
    const [id, identifiers] = [ownString(detail, 'credential_configuration_id'), own(detail, 'credential_identifiers')]
    const [identifier] = Array.isArray(identifiers) ? identifiers : []
    return id !== undefined && typeof identifier === 'string' ? [[id, identifier] as const] : []
  })
  return new Map(entries)
}
