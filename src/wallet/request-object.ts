/**
 * The request object: parses and verifies it. It must be signed with the certificate that the `client_id` of the link
 * names. `digital-credentials.ts` reads requests through a browser by the same parts. OpenID4VP 1.0, Authorization
 * Request and Client Identifier Prefixes; RFC 9101.
 */
import { toBase64url } from '../codec/base64url.ts'
import { type JsonObject, memberOf, stringMemberOf } from '../codec/json.ts'
import { type Jws, readJws } from '../codec/jws.ts'
import { presentationFormats } from '../credential/formats.ts'
import { type Certificate, leafProblem } from '../keys/certificate.ts'
import { type JweParameters, jweAlgorithms, jweEncryptions } from '../keys/jwe.ts'
import { isJwsSignedBy, joseAlgorithms } from '../keys/signature.ts'
import { readX5c } from '../keys/trust-path.ts'
import { type DcqlQuery, readDcqlQuery } from '../protocol/dcql.ts'
import { ProtocolError } from '../protocol/error.ts'
import { STATIC_AUDIENCE, X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import type { RequestedTransaction } from '../protocol/transaction-data.ts'
import { requireAddress } from './address.ts'
import { CLOCK_SKEW_SECONDS, type WalletContext } from './context.ts'
import { readOrRefuseWith, refuseWith } from './error.ts'
import { exchangeText } from './exchange.ts'
import { readLink } from './link.ts'
import { readEncryption } from './response-encryption.ts'
import { readTransactions } from './transaction.ts'

/** The parameters that mean the same in every request. */
interface CommonParameters {
  /** The name of the verifier in the request, which is not verified. */
  readonly clientName: string | undefined
  readonly query: DcqlQuery
  readonly nonce: string
  readonly responseMode: string
  readonly expiresAt: Date | undefined
  /** The encryption of the response; undefined if it is not encrypted. */
  readonly encryption: JweParameters | undefined
  /** The transactions to approve. */
  readonly transactions: readonly RequestedTransaction[]
}

export interface AuthorizationRequest extends CommonParameters {
  /** The client identifier and the certificate of the signer; undefined if the request came unsigned, by a browser. */
  readonly clientId: string | undefined
  readonly certificate: Certificate | undefined
  /** The audience of presentations: the client identifier, or `origin:` and the origin of the page. */
  readonly audience: string
  readonly state: string | undefined
  readonly recipient: ResponseRecipient
}

/** Where the response goes: to the verifier, or by the browser to the page that asked, which posts it to `uri`. */
export type ResponseRecipient =
  | { readonly responseUri: string }
  | { readonly origin: string; readonly protocol: string; readonly uri: string }

/** A request by a link, which is always signed. */
export interface LinkRequest extends AuthorizationRequest {
  readonly clientId: string
  readonly certificate: Certificate
}

/** The parameters in the link of a request. OpenID4VP 1.0, Authorization Request; HAIP 1.0 for its scheme. */
interface RequestLink {
  readonly clientId: string
  readonly requestUri: string
  /** The HTTP method for fetching the request object. */
  readonly method: 'get' | 'post'
}

const SCHEMES = ['haip-vp', 'openid4vp']
const MEDIA_TYPE = 'application/oauth-authz-req+jwt'
const RESPONSE_MODES = ['direct_post', 'direct_post.jwt']

/**
 * Fetches and verifies a request. Refuses with `invalid_link`, `invalid_request_object`, or with `unsupported` a
 * request that this wallet does not support.
 */
export async function fetchRequest(wallet: WalletContext, link: string): Promise<LinkRequest> {
  const { clientId, requestUri, method } = readRequestLink(link)
  const nonce = method === 'post' ? toBase64url(wallet.random(24)) : undefined
  const text = await exchangeText(wallet, {
    what: 'fetched the request object',
    means: 'Signed by the verifier: who asks, for which claims, and where the answer goes.',
    spec: 'OpenID4VP 1.0, Passing Authorization Request by Reference; RFC 9101',
    url: requestUri,
    type: MEDIA_TYPE,
    headers: { accept: MEDIA_TYPE },
    ...(nonce === undefined ? {} : makeNonceBody(nonce)),
  })
  const jws = readRequestObject(text)
  const certificate = verifyRequestObject(wallet, jws, clientId)
  const { payload } = jws
  // OpenID4VP 1.0, Request URI Response: `wallet_nonce` must be the sent one.
  if (nonce !== undefined && memberOf(payload, 'wallet_nonce') !== nonce)
    refuseRequestObject('it was not made for this wallet (wallet_nonce)')
  if (memberOf(payload, 'client_id') !== clientId) refuseRequestObject('its client_id is not the one of the link')
  // OpenID4VP 1.0, Response Mode direct_post
  if (Object.hasOwn(payload, 'redirect_uri')) refuseRequestObject('it has a redirect_uri beside its response_uri')
  return {
    ...readCommonParameters(payload, RESPONSE_MODES, wallet.now()),
    clientId,
    certificate,
    // OpenID4VP 1.0, Preventing Replay: the audience is the full client identifier.
    audience: clientId,
    state: readState(payload),
    // Unlike x509_san_dns, x509_hash does not restrict the host of response_uri.
    recipient: {
      responseUri: requireAddress(memberOf(payload, 'response_uri'), 'response_uri', 'invalid_request_object'),
    },
  }
}

/**
 * Parses the link of a request. Refuses with `invalid_link`, `insecure_address`, or with `unsupported` a verifier that
 * this wallet cannot authenticate.
 */
function readRequestLink(link: string): RequestLink {
  const parameters = readLink(link, SCHEMES, 'presentation request')
  const clientId =
    parameters.get('client_id') ||
    refuseWith('invalid_link', 'the link has no client_id; was it pasted without quotes?')
  refuseUnknownClient(clientId)
  const requestUri = parameters.get('request_uri')
  if (requestUri === undefined) {
    refuseWith(
      'invalid_link',
      'the link has no request_uri, and this wallet takes signed requests only; was it pasted without quotes?',
    )
  }
  const method = parameters.get('request_uri_method') ?? 'get'
  if (method !== 'get' && method !== 'post') {
    refuseWith('invalid_link', 'request_uri_method of the link is neither get nor post')
  }
  return { clientId, requestUri: requireAddress(requestUri, 'request_uri', 'invalid_link'), method }
}

/** Refuses with `unsupported` a verifier that this wallet cannot authenticate. */
export function refuseUnknownClient(clientId: string): void {
  if (clientId.startsWith(X509_HASH_PREFIX)) return
  const identity = `the verifier identifies itself as ${clientId}`
  refuseWith('unsupported', `${identity}, and this wallet knows x509_hash only; ask it for a request with that`)
}

/** Makes the body of the POST request: the wallet's nonce, and the metadata that a verifier needs. */
function makeNonceBody(nonce: string) {
  const metadata = {
    vp_formats_supported: presentationFormats(),
    client_id_prefixes_supported: [X509_HASH_PREFIX.slice(0, -1)],
    request_object_signing_alg_values_supported: [...joseAlgorithms],
    authorization_encryption_alg_values_supported: [...jweAlgorithms],
    authorization_encryption_enc_values_supported: [...jweEncryptions],
  }
  const body = new URLSearchParams({ wallet_nonce: nonce, wallet_metadata: JSON.stringify(metadata) })
  return { body, sent: 'wallet_nonce, wallet_metadata' }
}

/** Parses a request object. Refuses with `invalid_request_object` one that nobody signed, also as plain JSON. */
export function readRequestObject(text: string): Jws {
  const object = text.trim()
  if (object.startsWith('{')) refuseRequestObject('it is not signed: it is JSON in place of a JWT')
  const jws = readOrRefuseWith('invalid_request_object', 'the request object cannot be read', () => readJws(object))
  const isUnsigned = memberOf(jws.header, 'alg') === 'none' || jws.signature.length === 0
  return isUnsigned ? refuseRequestObject('it is not signed') : jws
}

/**
 * Verifies that a request object is by the verifier `clientId`, for a wallet. Returns the verifier's certificate.
 * Refuses with `invalid_request_object`.
 */
export function verifyRequestObject(wallet: WalletContext, jws: Jws, clientId: string): Certificate {
  const certificate = verifySigner(jws, clientId, wallet.now())
  wallet.onStep?.({
    what: 'verified the request object',
    means: `Its signature is by ${certificate.subjectText}, the certificate whose hash is the client_id.`,
    spec: 'OpenID4VP 1.0, Client Identifier Prefix x509_hash',
  })
  if (memberOf(jws.payload, 'aud') !== STATIC_AUDIENCE) refuseRequestObject(`its aud is not ${STATIC_AUDIENCE}`)
  return certificate
}

/** Verifies the signature of the request, and that `client_id` names its certificate. Returns the certificate. */
function verifySigner(jws: Jws, clientId: string, now: Date): Certificate {
  const { header } = jws
  if (memberOf(header, 'typ') !== 'oauth-authz-req+jwt') refuseRequestObject('its typ is not oauth-authz-req+jwt')
  if (!joseAlgorithms.includes(stringMemberOf(header, 'alg') ?? ''))
    refuseRequestObject(`its alg must be one of ${joseAlgorithms.join(', ')}`)
  if (!Object.hasOwn(header, 'x5c')) refuseRequestObject('it comes without a certificate (x5c)')
  const [certificate] = readOrRefuseWith(
    'invalid_request_object',
    'the certificates of the verifier cannot be read',
    () => readX5c(memberOf(header, 'x5c')),
  )
  if (`${X509_HASH_PREFIX}${certificate.fingerprint}` !== clientId) {
    refuseRequestObject(`it is by ${certificate.subjectText}, and client_id names another verifier (x509_hash)`)
  }
  const problem = leafProblem(certificate, now, CLOCK_SKEW_SECONDS, 'request')
  if (problem !== undefined) refuseRequestObject(problem)
  if (!isJwsSignedBy(jws, certificate.publicKey))
    refuseRequestObject(`its signature is not by the key of ${certificate.subjectText}`)
  return certificate
}

/**
 * Reads the parameters of a request. Refuses with `unsupported` a response mode that is not one of `modes`, and with
 * `invalid_request_object` a malformed request.
 */
export function readCommonParameters(payload: JsonObject, modes: readonly string[], now: Date): CommonParameters {
  if (memberOf(payload, 'response_type') !== 'vp_token') abortUnsupported(payload, 'response_type', 'vp_token')
  const query = readQuery(payload)
  const responseMode = stringMemberOf(payload, 'response_mode') ?? ''
  if (!modes.includes(responseMode)) abortUnsupported(payload, 'response_mode', modes.join(' and '))
  return {
    clientName: stringMemberOf(memberOf(payload, 'client_metadata'), 'client_name'),
    query,
    nonce: stringMemberOf(payload, 'nonce') || refuseRequestObject('it has no nonce'),
    expiresAt: readExpiry(payload, now),
    responseMode,
    encryption: responseMode.endsWith('.jwt') ? readEncryption(payload) : undefined,
    transactions: readTransactions(payload, query),
  }
}

function readQuery(payload: JsonObject): DcqlQuery {
  const query = memberOf(payload, 'dcql_query')
  if (query === undefined) refuseRequestObject('it has no dcql_query')
  try {
    return readDcqlQuery(query)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return refuseWith(
      'invalid_request_object',
      `this wallet cannot answer what the verifier asks: ${error.message}`,
      error,
    )
  }
}

function readState(payload: JsonObject): string | undefined {
  const state = memberOf(payload, 'state')
  return state === undefined || typeof state === 'string' ? state : refuseRequestObject('its state is not a string')
}

/** Returns the expiry of the request, if it has one. RFC 9101 section 4; RFC 7519 section 4.1. */
function readExpiry(payload: JsonObject, now: Date): Date | undefined {
  const [issuedAt, notBefore, expiresAt] = ['iat', 'nbf', 'exp'].map((name) => readTime(payload, name))
  const latest = now.getTime() + CLOCK_SKEW_SECONDS * 1000
  if ((issuedAt ?? now).getTime() > latest || (notBefore ?? now).getTime() > latest) {
    refuseRequestObject('it is from the future; check the clock of this machine')
  }
  if (expiresAt !== undefined && expiresAt.getTime() <= now.getTime() - CLOCK_SKEW_SECONDS * 1000) {
    refuseRequestObject(
      `it expired on ${expiresAt.toISOString()}; ask the verifier for a new one, or check the clock of this machine`,
    )
  }
  return expiresAt
}

function readTime(payload: JsonObject, name: string): Date | undefined {
  const value = memberOf(payload, name)
  if (value === undefined) return undefined
  const date = new Date(typeof value === 'number' ? value * 1000 : Number.NaN)
  return Number.isNaN(date.getTime()) ? refuseRequestObject(`its ${name} is not a time`) : date
}

function abortUnsupported(payload: JsonObject, name: string, supportedValues: string): never {
  const value = stringMemberOf(payload, name) ?? 'of another kind'
  return refuseWith(
    'unsupported',
    `the verifier wants a ${name} ${value}, and this wallet supports ${supportedValues} only`,
  )
}

/** Refuses with `invalid_request_object` a request for `reason`, which is part of a sentence. */
export function refuseRequestObject(reason: string): never {
  return refuseWith('invalid_request_object', `the request cannot be trusted, and nothing was sent: ${reason}`)
}
