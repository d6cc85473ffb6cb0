/**
 * Access tokens: JWTs that others can verify with our JWKS (RFC 9068), and that we recognise by their digest: a token is
 * good when it is exactly the one its session was given. How one is come by is in token-request.ts.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { toBase64url } from '../codec/base64url.ts'
import { ownString } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { MalformedError } from '../codec/malformed.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerContext } from './context.ts'
import { sessionOfExternalToken } from './external-token.ts'
import type { IssuanceSession } from './session.ts'

/** How long a token is good. */
export const TOKEN_SECONDS = 300

/** The session that an access token opened, as it was read. */
export interface OpenSession {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly version: number
}

/**
 * The session whose access token the header carries. Refuses with `invalid_token`; a token of an external server also as
 * {@link sessionOfExternalToken} does. RFC 6750 section 3.1.
 */
export async function sessionOfToken(context: IssuerContext, authorization: string | undefined): Promise<OpenSession> {
  const { store, now, authorizationServer } = context
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return refuse('invalid_token', 'send the access token as Authorization: Bearer <token>')
  if (authorizationServer !== undefined) {
    const external = await sessionOfExternalToken(context, authorizationServer, token)
    return { sessionId: external.sessionId, session: external.row.value, version: external.row.version }
  }
  const sessionId = subjectOf(token)
  const row = sessionId === undefined ? undefined : await store.get('issuance_session', sessionId)
  const known = row?.value.token
  if (sessionId === undefined || row === undefined || known === undefined || !isSame(known.digest, digestOf(token))) {
    return refuse('invalid_token', 'the access token is not one of ours')
  }
  if (now().getTime() >= known.expiresAt) refuse('invalid_token', 'the access token has expired')
  return { sessionId, session: row.value, version: row.version }
}

/** A new token for the session, and what the session keeps of it. */
export async function makeAccessToken({ config, signer, random }: IssuerContext, sessionId: string, now: Date) {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const payload = {
    iss: config.baseUrl,
    sub: sessionId,
    aud: config.baseUrl,
    iat: issuedAt,
    exp: issuedAt + TOKEN_SECONDS,
    jti: toBase64url(random(16)),
  }
  const header = { typ: 'at+jwt', alg: signer.alg, kid: signer.kid }
  const accessToken = await writeJws(header, payload, (data) => signer.sign(data))
  return { accessToken, token: { digest: digestOf(accessToken), expiresAt: now.getTime() + TOKEN_SECONDS * 1000 } }
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
