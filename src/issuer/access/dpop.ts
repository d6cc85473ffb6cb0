/**
 * DPoP (RFC 9449) binds access tokens to a key of the wallet. This module verifies the proof of a request, and makes
 * the challenges for one. The batch of the request then marks the proof as used, with `singleUse`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { parseUrl, pathOf } from '../../codec/url.ts'
import { importPublicKey, readSigningJwk, thumbprint } from '../../keys/jwk.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import { PROTECTED_RESOURCE_ERRORS, ProtocolError, readOrRefuse, refuse } from '../../protocol/error.ts'
import type { AccessContext } from './context.ts'
import { algorithmProblem, headerValueProblem, jwtTimeProblem, PROOF_TIMES, typeProblem } from './jwt-checks.ts'
import { proofUseOf, type StoredUse } from './single-use.ts'

/** The parts of a request that a DPoP proof covers. */
export interface DpopRequest {
  /** The value of the header `DPoP`. */
  readonly dpop: string | undefined
  readonly method: string
  /** The path without the query. */
  readonly path: string
}

export interface DpopProof {
  /** The JWK thumbprint of the proof's key. RFC 7638. */
  readonly jkt: string
  readonly singleUse: StoredUse
}

type AlgorithmSettings = Pick<AccessContext['config'], 'tokenAlgorithms'>

/**
 * Makes the hook that adds a nonce for the next proof to each response for a request with a DPoP proof. RFC 9449
 * section 8.2.
 */
export function createDpopNonceHook({ dpopNonces, now }: AccessContext) {
  return ({ headers }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const usesDpop = headers.dpop !== undefined || /^DPoP /i.test(headers.authorization ?? '')
    if (usesDpop) reply.header('dpop-nonce', dpopNonces.getCurrent(now()))
    done()
  }
}

/** Returns the parts of a request that a DPoP proof covers. */
export function readDpopRequest({ headers, method, url }: FastifyRequest): DpopRequest {
  const { dpop } = headers
  return { dpop: typeof dpop === 'string' ? dpop : dpop?.join(), method, path: pathOf(url) }
}

/**
 * Verifies the DPoP proof of a request. `tokenDigest` is the expected `ath`: the base64url digest of the access token
 * that is sent with the proof, if any. Refuses with `invalid_dpop_proof`, or with `use_dpop_nonce` a proof of which
 * only the nonce, and perhaps the signature, is wrong. RFC 9449 section 4.3.
 */
export function verifyDpopProof(
  context: Pick<AccessContext, 'config' | 'dpopNonces' | 'now'>,
  request: DpopRequest,
  tokenDigest?: string,
): DpopProof {
  const jws = readDpopJwt(request.dpop, context.config)
  const { header, payload } = jws
  const jwk = readOrRefuseDpopProof(() => readSigningJwk(memberOf(header, 'jwk')))
  if (memberOf(payload, 'htm') !== request.method) refuseDpopProof(`htm must be ${request.method}`)
  if (!isSameAddress(stringMemberOf(payload, 'htu'), `${context.config.baseUrl}${request.path}`)) {
    refuseDpopProof('htu must be the address that the request was sent to')
  }
  const { clockSkewSeconds } = context.config
  refuseDpopProblem(jwtTimeProblem(payload, PROOF_TIMES, { now: context.now(), clockSkewSeconds }))
  if (tokenDigest !== undefined && memberOf(payload, 'ath') !== tokenDigest) {
    refuseDpopProof('ath must be the digest of the access token')
  }
  const id = stringMemberOf(payload, 'jti')
  if (!id) return refuseDpopProof('jti is missing')
  refuseWrongNonce(context, payload)
  // The signature comes last, since it costs much more than the rest, and anybody can send proofs.
  const key = readOrRefuseDpopProof(() => importPublicKey(jwk))
  if (!isJwsSignedBy(jws, key)) refuseDpopProof('its signature is not by the key in its header')
  const jkt = thumbprint(jwk)
  const refuseReuse = () => refuseDpopProof('it was used before; each request needs a new one')
  return { jkt, singleUse: proofUseOf({ kind: 'dpop', thumbprint: jkt, id, payload }, refuseReuse) }
}

/**
 * Returns the result of `run`. If `isDpop`, adds the `WWW-Authenticate` challenge for DPoP to a refusal of a token or a
 * proof. RFC 9449 section 7.1.
 */
export async function withDpopChallenge<T>(
  config: AlgorithmSettings,
  isDpop: boolean,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!isDpop || !(error instanceof ProtocolError) || !PROTECTED_RESOURCE_ERRORS.includes(error.code)) throw error
    return refuseWithChallenge(config, error)
  }
}

/** Refuses with the challenge for DPoP a request that was sent without DPoP and needs it. */
export function refuseMissingDpop(config: AlgorithmSettings, message: string): never {
  return refuseWithChallenge(config, { code: 'invalid_token', message })
}

/** Refuses with the challenge for DPoP a request without an access token; such a challenge has no error code. */
export function refuseMissingToken({ tokenAlgorithms }: AlgorithmSettings, message: string): never {
  return refuse('invalid_token', message, { challenge: `DPoP algs="${tokenAlgorithms.join(' ')}"` })
}

/**
 * Refuses with `insufficient_scope` what the access token does not cover, and with the challenge for DPoP if the token
 * was sent with that scheme.
 */
export function refuseInsufficientScope(
  config: AlgorithmSettings,
  { dpopUse }: { readonly dpopUse: StoredUse | undefined },
  message: string,
): never {
  return dpopUse === undefined
    ? refuse('insufficient_scope', message)
    : refuseWithChallenge(config, { code: 'insufficient_scope', message })
}

function refuseWithChallenge(
  { tokenAlgorithms }: AlgorithmSettings,
  { code, message, cause }: Pick<ProtocolError, 'code' | 'message' | 'cause'>,
): never {
  return refuse(code, message, { cause, challenge: `DPoP error="${code}", algs="${tokenAlgorithms.join(' ')}"` })
}

function readDpopJwt(text: string | undefined, { tokenAlgorithms }: AlgorithmSettings): Jws {
  if (text === undefined) return refuseDpopProof('it is missing; send it in the DPoP header')
  refuseDpopProblem(headerValueProblem(text))
  const jws = readOrRefuseDpopProof(() => readJws(text))
  refuseDpopProblem(typeProblem(jws.header, 'dpop+jwt') ?? algorithmProblem(jws.header, tokenAlgorithms))
  return jws
}

/**
 * Refuses with `use_dpop_nonce` a proof whose nonce is not one of this service, or that has none where it needs one.
 * Otherwise a proof without a nonce is limited by its age and its single use. RFC 9449 sections 8 and 11.1.
 */
function refuseWrongNonce(
  { config, dpopNonces, now }: Pick<AccessContext, 'config' | 'dpopNonces' | 'now'>,
  payload: JsonObject,
): void {
  const nonce = memberOf(payload, 'nonce')
  if (nonce === undefined && !config.dpopNonceRequired) return
  if (typeof nonce === 'string' && dpopNonces.isValid(nonce, now())) return
  refuse('use_dpop_nonce', 'the DPoP proof needs the nonce of the DPoP-Nonce header of this answer; send a new proof')
}

/** Tests whether `htu` equals `address`, after normalization (RFC 3986 section 6.2) and without query and fragment. */
function isSameAddress(htu: string | undefined, address: string): boolean {
  const url = htu === undefined ? undefined : parseUrl(htu)
  if (url === undefined) return false
  url.search = ''
  url.hash = ''
  return url.href === new URL(address).href
}

function readOrRefuseDpopProof<T>(read: () => T): T {
  return readOrRefuse('invalid_dpop_proof', 'the DPoP proof cannot be read', read)
}

function refuseDpopProblem(problem: string | undefined): void {
  if (problem !== undefined) refuseDpopProof(problem)
}

/** Refuses with `invalid_dpop_proof`. */
export function refuseDpopProof(reason: string): never {
  return refuse('invalid_dpop_proof', `the DPoP proof: ${reason}`)
}
