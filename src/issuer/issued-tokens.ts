/** The tokens of a redeemed code, their refresh and their end. The functions here use only this part of a session. */

/** The tokens for a redeemed code. */
export interface IssuedTokens {
  readonly token: AccessTokenRecord
  /** The client that has the tokens; absent when it is unknown, as with a pre-authorized code. */
  readonly client?: AuthorizedClient | undefined
  /** The refresh token, if the session has one. */
  readonly refresh?: RefreshState
}

/** The client that the tokens were issued to. */
export interface AuthorizedClient {
  readonly id: string
  /** The JWK thumbprint of its wallet instance, if it is attested. */
  readonly instance?: string
}

/** The stored part of an access token. */
export interface AccessTokenRecord {
  /** The digest of the token. The token itself is not stored. */
  readonly digest: string
  readonly expiresAt: number
  /** The JWK thumbprint of the DPoP key that the token is bound to. RFC 9449 section 6.1. */
  readonly jkt?: string | undefined
  /** The number of credentials that the session had issued when the token was made; 0 when absent. */
  readonly issuedBefore?: number
  /** The configurations that the wallet asked for; when absent, the token is for all of the session. */
  readonly authorized?: readonly string[]
}

/** The causes that end the refresh of tokens before its time. */
export type RefreshEnd = 'revocation' | 'reuse' | 'restore'

/** The state of the refresh tokens. Only their digests are stored. */
export interface RefreshState {
  readonly until: number
  /** The cause that ended the refresh before its time, if any; absent in rows of earlier releases. */
  readonly endedBy?: RefreshEnd
  readonly digest: string
  /**
   * The previous token. It is accepted until the wallet uses a token of the last response, which may have been lost.
   */
  readonly retry?: string
  /** The last tokens before `retry`. */
  readonly spent: readonly string[]
  /** The tokens from before they were bound to a key or a wallet instance, where a refresh bound them. */
  readonly unbound?: readonly string[]
  /** The access of the first token, of which later tokens may have a part. Absent in rows of earlier releases. */
  readonly granted?: Pick<AccessTokenRecord, 'authorized'>
}

/** The maximum number of used refresh tokens whose reuse is detected. */
const MAX_SPENT = 10

/** Returns when the wallet's tokens end, refresh included. */
export function endOfTokens({ token, refresh }: IssuedTokens): number {
  return Math.max(token.expiresAt, refresh?.until ?? 0)
}

/**
 * Returns the configurations that the access tokens can be for; undefined if that is all of the session. RFC 6749
 * section 6.
 */
export function grantedIdsOf({ token, refresh }: IssuedTokens): readonly string[] | undefined {
  return (refresh?.granted ?? token).authorized
}

/** Moves the previous token to the used tokens, of which the last {@link MAX_SPENT} are stored. */
export function dropRetry({ retry, spent, ...state }: RefreshState): RefreshState {
  return { ...state, spent: retry === undefined ? spent : [...spent, retry].slice(-MAX_SPENT) }
}

/** Records that the wallet has received the last token response. */
export function recordReceipt<T extends Partial<IssuedTokens>>(tokens: T): T {
  const { refresh } = tokens
  return refresh?.retry === undefined ? tokens : { ...tokens, refresh: dropRetry(refresh) }
}

/** Ends all tokens. RFC 6749 section 4.1.2 and RFC 9700 section 4.14.2 on codes and tokens that are used again. */
export function endTokens<T extends IssuedTokens>(tokens: T, now: Date, endedBy: RefreshEnd): T {
  const { token } = tokens
  const expiresAt = Math.min(token.expiresAt, now.getTime())
  return endRefreshing({ ...tokens, token: { ...token, expiresAt } }, now, endedBy)
}

/** Ends the refresh tokens. */
export function endRefreshing<T extends Partial<IssuedTokens>>(tokens: T, now: Date, endedBy: RefreshEnd): T {
  const { refresh } = tokens
  const until = now.getTime()
  if (refresh === undefined || refresh.until <= until) return tokens
  return { ...tokens, refresh: { ...refresh, until, endedBy } }
}

/** Removes what identifies the wallet from tokens that have ended: the client and the key of the access token. */
export function removeWallet<T extends Partial<IssuedTokens>>(tokens: T): T {
  const { client, token } = tokens
  return {
    ...tokens,
    ...(client && { client: undefined }),
    ...(token?.jkt !== undefined && { token: { ...token, jkt: undefined } }),
  }
}
