/**
 * Access tokens: JWTs that others can verify with our JWKS (RFC 9068), and that we recognise by their digest: a token is
 * good when it is exactly the one its session was given. Pre-authorized code grant: OpenID4VCI 1.0, Token Endpoint.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { toBase64url } from '../codec/base64url.ts'
import { ownString } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type ErrorCode, refuse } from '../protocol/error.ts'
import { PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import type { TokenResponse } from '../protocol/oauth.ts'
import { grantedDetails, readAuthorizationDetails } from './authorization-details.ts'
import type { IssuerContext } from './context.ts'
import { draft13Nonce } from './draft13.ts'
import { identifierOf } from './metadata.ts'
import { sessionOfCode } from './pre-authorized-code.ts'
import type { TokenRequest } from './schemas.ts'
import { type IssuanceSession, refuseRedeemed, refuseUnlessRedeemable } from './session.ts'

const LIFETIME_SECONDS = 300

/**
 * Redeems a pre-authorized code. `sessionId` is the session of the path, where there is one; a code of another session is
 * refused there. Refuses with `unsupported_grant_type`, `invalid_request`, `invalid_grant` or `invalid_authorization_details`.
 */
export async function redeemCode(
  context: IssuerContext,
  request: TokenRequest,
  sessionId: string | undefined,
): Promise<TokenResponse> {
  const id = sessionOfRequest(context, request)
  const ours = id !== undefined && (sessionId === undefined || sessionId === id)
  const row = ours ? await context.store.get('issuance_session', id) : undefined
  if (id === undefined || row === undefined) {
    return refuse('invalid_grant', 'the pre-authorized code is unknown; scan the credential offer again')
  }
  const now = context.now()
  refuseUnlessRedeemable(row.value, now)
  const authorized = authorizedBy(context, request, { id, session: row.value })
  const accessToken = await signToken(context, id, now)
  const expiresAt = now.getTime() + LIFETIME_SECONDS * 1000
  const token = { digest: digestOf(accessToken), expiresAt, ...(authorized && { authorized }) }
  const value = { ...row.value, token }
  const failed = await context.store.commit([{ update: 'issuance_session', id, version: row.version, value }])
  // Before it has a token, nothing else changes a session: whoever was faster has redeemed the code.
  if (failed !== undefined) refuseRedeemed()
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: LIFETIME_SECONDS,
    ...(authorized && { authorization_details: grantedDetails(authorized) }),
    ...(context.config.draft13 ? draft13Nonce(context, id) : {}),
  }
}

/** The configurations that authorization details name, or undefined when there are none. */
function authorizedBy(
  context: IssuerContext,
  { authorization_details: details }: TokenRequest,
  { id, session }: { readonly id: string; readonly session: IssuanceSession },
): readonly string[] | undefined {
  const identifiers = [id, undefined].map((sessionId) => identifierOf(context, sessionId))
  return details ? readAuthorizationDetails(details, session.configurationIds, identifiers) : undefined
}

/** The session that an access token opened, as it was read. */
export interface OpenSession {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly version: number
}

/** The session whose access token the header carries. Refuses with `invalid_token`. RFC 6750 section 3.1. */
export async function sessionOfToken(
  { store, now }: IssuerContext,
  authorization: string | undefined,
): Promise<OpenSession> {
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return refuse('invalid_token', 'send the access token as Authorization: Bearer <token>')
  const sessionId = subjectOf(token)
  const row = sessionId === undefined ? undefined : await store.get('issuance_session', sessionId)
  const known = row?.value.token
  if (sessionId === undefined || row === undefined || known === undefined || !isSame(known.digest, digestOf(token))) {
    return refuse('invalid_token', 'the access token is not one of ours')
  }
  if (now().getTime() >= known.expiresAt) refuse('invalid_token', 'the access token has expired')
  return { sessionId, session: row.value, version: row.version }
}

function sessionOfRequest({ secrets }: IssuerContext, request: TokenRequest): string | undefined {
  if (request.grant_type !== PRE_AUTHORIZED_GRANT) {
    const code: ErrorCode = request.grant_type ? 'unsupported_grant_type' : 'invalid_request'
    refuse(code, `grant_type must be ${PRE_AUTHORIZED_GRANT}`)
  }
  const code = request['pre-authorized_code']
  if (!code) return refuse('invalid_request', 'pre-authorized_code is missing')
  // OpenID4VCI 1.0, Token Error Response: a transaction code that was not asked for.
  if (request.tx_code) refuse('invalid_request', 'tx_code: this offer asks for no transaction code')
  return sessionOfCode(secrets.code, code)
}

function signToken({ config, signer, random }: IssuerContext, sessionId: string, now: Date): Promise<string> {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const payload = {
    iss: config.baseUrl,
    sub: sessionId,
    aud: config.baseUrl,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    jti: toBase64url(random(16)),
  }
  return writeJws({ typ: 'at+jwt', alg: signer.alg, kid: signer.kid }, payload, (data) => signer.sign(data))
}

/** What the token says of itself: where to look, and nothing to rely on. */
function subjectOf(token: string): string | undefined {
  try {
    return ownString(readJws(token).payload, 'sub')
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  }
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url')
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
