/**
 * Refresh tokens: how a wallet gets its credential anew, for as long as the session's policy lets it. RFC 6749 section
 * 6. Each token is good once. But an answer may be lost on its way, so that the same token may be sent again, and gets
 * the same successor, until the wallet has shown that it has the answer: by the successor, or by a credential that the
 * new access token got. A token that is sent after that is in the hands of a second party, and all tokens of its family
 * end. RFC 9700 section 4.14.2.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'
import type { Problem } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import { dropRetry, type RefreshPolicy } from '../authorization.ts'
import type { IssuerContext } from '../context.ts'
import type { AuthorizedSession, IssuanceSession } from '../session.ts'

/** A refresh token, and what a session keeps of it and its family. */
export interface NewRefreshToken {
  readonly refreshToken: string
  readonly refresh: RefreshPolicy
}

const REPLAYED_TOKEN = 'the refresh token has been used, and none of this session is good any more; ask for a new offer'

/** Returns the first refresh token of a session that has just been redeemed, when its policy has any. */
export function makeFirstRefreshToken(
  { random }: IssuerContext,
  sessionId: string,
  { refreshSeconds }: IssuanceSession,
  now: Date,
): NewRefreshToken | undefined {
  if (refreshSeconds === undefined) return undefined
  const refreshToken = makeToken(sessionId, toBase64url(random(32)))
  const until = now.getTime() + refreshSeconds * 1000
  return { refreshToken, refresh: { until, digest: digestOf(refreshToken), spent: [] } }
}

/** Returns the id of the session that a refresh token names, unverified. */
export function sessionOfRefreshToken(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')))
}

/**
 * Returns the successor of a refresh token (itself, in the profile HAIP), or the problem for which the family has to
 * end. Refuses with `invalid_grant` one that is unknown, and any when the time is up.
 */
export function makeNextRefreshToken(
  { secrets, config }: Pick<IssuerContext, 'secrets' | 'config'>,
  sessionId: string,
  session: AuthorizedSession,
  request: { readonly refreshToken: string; readonly now: Date },
): NewRefreshToken | Problem {
  const { refresh, token } = session
  if (refresh === undefined) return refuseUnknownRefreshToken()
  if (request.now.getTime() >= refresh.until || session.expiredAt !== undefined || session.erasedAt !== undefined) {
    refuse('invalid_grant', 'the time is up in which this could be refreshed; ask for a new offer')
  }
  const digest = digestOf(request.refreshToken)
  // Digests need no constant time: how much of a digest fits says nothing about the token.
  const isRetry = refresh.retry === digest
  if (refresh.spent.includes(digest)) {
    // A token that is bound to a key is of no use to a thief, so that this is a mistake of the wallet.
    if (token.jkt === undefined) return { problem: REPLAYED_TOKEN }
    refuse('invalid_grant', 'the refresh token has been used; send the one that came in return')
  }
  if (refresh.digest !== digest && !isRetry) refuseUnknownRefreshToken()
  // FAPI 2.0 Security Profile, Requirements for authorization servers: no rotation, as the tokens are bound to keys.
  if (config.profile === 'haip' && !isRetry) return { refreshToken: request.refreshToken, refresh: dropRetry(refresh) }
  const [newest, ...older] = secrets.refresh
  const hasGivenSuccessor = (secret: KeyObject): boolean =>
    isRetry && refresh.digest === digestOf(deriveSuccessor(request.refreshToken, sessionId, secret))
  const refreshToken = deriveSuccessor(request.refreshToken, sessionId, older.find(hasGivenSuccessor) ?? newest)
  const policy = isRetry ? refresh : dropRetry(refresh)
  return { refreshToken, refresh: { ...policy, digest: digestOf(refreshToken), retry: digest } }
}

export function refuseUnknownRefreshToken(): never {
  return refuse('invalid_grant', 'the refresh token is unknown')
}

/**
 * Derives the next refresh token from `refreshToken`, so that a token that comes again gets the same one and neither
 * has to be stored.
 */
function deriveSuccessor(refreshToken: string, sessionId: string, secret: KeyObject): string {
  return makeToken(sessionId, createHmac('sha256', secret).update(refreshToken).digest('base64url'))
}

/**
 * Makes a refresh token, which begins with the session id, by which the token endpoint without a session in its path
 * finds the session.
 */
function makeToken(sessionId: string, secret: string): string {
  return `${sessionId}.${secret}`
}
