/**
 * Refresh tokens, with rotation: each is used once and replaced by its successor. RFC 6749 section 6. A response may
 * get lost, so the previous token is accepted again, with the same successor, until the wallet has used a token of that
 * response: the successor, or the access token for a credential. An older token that is used again may have been
 * stolen, so all tokens of the authorization are ended. RFC 9700 section 4.14.2.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'
import type { Problem } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import { dropRetry, type RefreshPolicy } from '../authorization.ts'
import type { IssuerContext } from '../context.ts'
import type { AuthorizedSession, IssuanceSession } from '../session.ts'

/** A refresh token, and the state that the session stores. */
export interface NewRefreshToken {
  readonly refreshToken: string
  readonly refresh: RefreshPolicy
}

export const UNKNOWN_REFRESH_TOKEN = 'the refresh token is unknown; ask for a new offer'
const REPLAYED_TOKEN = 'the refresh token has been used, and none of this session is good any more; ask for a new offer'

/** Makes the first refresh token of a redeemed session; undefined if the session has none. */
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

/** Returns the session id in a refresh token, without verification. */
export function sessionIdOfRefreshToken(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')))
}

/**
 * Returns the successor of a refresh token (the token itself under HAIP), or the problem because of which all tokens
 * are to be ended. Refuses with `invalid_grant` an unknown token, and any token after the refresh time.
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
  // Digests are not secret, so the comparison need not take constant time.
  const isRetry = refresh.retry === digest
  if (refresh.spent.includes(digest)) {
    // A bound token is useless to a thief, so its reuse is a mistake of the wallet.
    if (token.jkt === undefined) return { problem: REPLAYED_TOKEN }
    refuse('invalid_grant', 'the refresh token has been used; send the one that came in return')
  }
  if (refresh.digest !== digest && !isRetry) refuseUnknownRefreshToken()
  // FAPI 2.0 Security Profile, Requirements for authorization servers: no rotation of tokens that are bound to keys.
  if (config.profile === 'haip' && !isRetry) return { refreshToken: request.refreshToken, refresh: dropRetry(refresh) }
  const [newest, ...older] = secrets.refresh
  const hasGivenSuccessor = (secret: KeyObject): boolean =>
    isRetry && refresh.digest === digestOf(deriveSuccessor(request.refreshToken, sessionId, secret))
  const refreshToken = deriveSuccessor(request.refreshToken, sessionId, older.find(hasGivenSuccessor) ?? newest)
  const policy = isRetry ? refresh : dropRetry(refresh)
  return { refreshToken, refresh: { ...policy, digest: digestOf(refreshToken), retry: digest } }
}

export function refuseUnknownRefreshToken(): never {
  return refuse('invalid_grant', UNKNOWN_REFRESH_TOKEN)
}

/** Derives the successor of `refreshToken`. The same token always gets the same successor, so none is stored. */
function deriveSuccessor(refreshToken: string, sessionId: string, secret: KeyObject): string {
  return makeToken(sessionId, createHmac('sha256', secret).update(refreshToken).digest('base64url'))
}

/** Makes a refresh token. It begins with the session id, so that the token endpoint can find the session. */
function makeToken(sessionId: string, secret: string): string {
  return `${sessionId}.${secret}`
}
