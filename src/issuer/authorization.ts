/**
 * The authorization of a wallet: the tokens that it got for a code, and how these are refreshed and ended. No function
 * here needs more of a session than its authorization.
 */

/** The tokens that a redeemed code gave. */
export interface Authorization {
  readonly token: AccessTokenRecord
  /** The wallet that has them; absent where nobody knows, as with the code of an offer. */
  readonly client?: AuthorizedClient
  /** The refresh token, in a session that has any. */
  readonly refresh?: RefreshPolicy
}

/** The client that an authorization belongs to. */
export interface AuthorizedClient {
  readonly id: string
  /** The thumbprint of the key of its instance, where its provider attests that. */
  readonly instance?: string
}

/** An access token, as far as it is stored. */
export interface AccessTokenRecord {
  /** The digest of the token, of which nothing else is kept. */
  readonly digest: string
  readonly expiresAt: number
  /** The thumbprint of the key that the token is bound to. RFC 9449 section 6.1. */
  readonly jkt?: string
  /** How many credentials had been issued when the token was made; none, where the member is absent. */
  readonly issuedBefore?: number
  /** The configurations that the wallet named in authorization details; absent when it named none, and has all. */
  readonly authorized?: readonly string[]
}

/** The state of refreshing; of refresh tokens only digests are kept. */
export interface RefreshPolicy {
  readonly until: number
  readonly digest: string
  /** The previous token, which is accepted until the wallet uses a token of the last answer, which may be lost. */
  readonly retry?: string
  /** Some of the tokens before `retry`. */
  readonly spent: readonly string[]
}

/** The most used refresh tokens that are recognized when they come again. */
const MAX_SPENT = 10

/** Returns the time from which the wallet can get nothing for its tokens any more. */
export function endOfAuthorization({ token, refresh }: Authorization): number {
  return Math.max(token.expiresAt, refresh?.until ?? 0)
}

/** Moves the previous token to those that are used up, of which the last are recognized when they come again. */
export function dropRetry({ retry, spent, ...policy }: RefreshPolicy): RefreshPolicy {
  return { ...policy, spent: retry === undefined ? spent : [...spent, retry].slice(-MAX_SPENT) }
}

/** Notes that the wallet has the access token, and with it the refresh token that came along. */
export function recordReceipt<T extends Partial<Authorization>>(authorization: T): T {
  const { refresh } = authorization
  return refresh?.retry === undefined ? authorization : { ...authorization, refresh: dropRetry(refresh) }
}

/**
 * Ends all tokens of an authorization whose authorization code or refresh token came a second time, because somebody
 * else may have that code or token. RFC 6749 section 4.1.2, RFC 9700 section 4.14.2.
 */
export function endTokens<T extends Authorization>(authorization: T, now: Date): T {
  const { token, refresh } = authorization
  const at = now.getTime()
  return {
    ...authorization,
    token: { ...token, expiresAt: Math.min(token.expiresAt, at) },
    ...(refresh && { refresh: { ...refresh, until: Math.min(refresh.until, at) } }),
  }
}

/** Ends refreshing, since the credentials of the session have been revoked. */
export function endRefreshing<T extends Partial<Authorization>>(authorization: T, now: Date): T {
  const { refresh } = authorization
  const until = now.getTime()
  return refresh === undefined || refresh.until <= until
    ? authorization
    : { ...authorization, refresh: { ...refresh, until } }
}
