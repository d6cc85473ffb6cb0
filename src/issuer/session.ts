/**
 * The issuance session: data, and the transitions between its states as functions on it. What is stored is facts;
 * the state is derived from them and the time, so that no clock has to write it.
 */
import { refuse } from '../protocol/error.ts'
import { type AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import type { NotificationRequest } from '../protocol/oid4vci.ts'

export interface IssuanceSession {
  readonly configurationIds: readonly string[]
  /** Times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  /** When the offer was fetched first, where the code was redeemed right after that. */
  readonly offerFetchedAt?: number
  /** The grants of the offer; the pre-authorized code alone where it is absent. */
  readonly grants?: readonly OfferGrant[]
  /** The pre-authorized code, sealed, where the application supplied it. */
  readonly suppliedCode?: string
  /** Where the offer asks for it. */
  readonly txCode?: TxCode | undefined
  /** Too many wrong transaction codes came: nobody can redeem the code any more. */
  readonly lockedAt?: number
  /** The access token that the pre-authorized code was redeemed for. */
  readonly token?: {
    /** Only this is kept of it. */
    readonly digest: string
    readonly expiresAt: number
    /** The thumbprint of the key that it is bound to. RFC 9449 section 6.1. */
    readonly jkt?: string
    /** How many credentials had been issued when it was made; none, where it is absent. */
    readonly issuedBefore?: number
    /** The configurations that the wallet named in authorization details; absent when it named none, and has all. */
    readonly authorized?: readonly string[]
  }
  /** Present in a session that was started without its dataset. */
  readonly deferral?: Deferral
  /** For how long after its code was redeemed the wallet may ask again. */
  readonly refreshSeconds?: number
  /** The refresh token, from when the code was redeemed. */
  readonly refresh?: RefreshPolicy
  /** Copies that have been given out, the first one first; what stands in a place stays there. */
  readonly issued: readonly IssuedCopy[]
  /** When it was recorded that the session had ended without a credential: nothing revives it. */
  readonly expiredAt?: number
  /** When its dataset was erased. */
  readonly erasedAt?: number
  /** The order of its last event; absent while the first is the only one. */
  readonly lastEvent?: number
}

export type OfferGrant = typeof AUTHORIZATION_CODE_GRANT | typeof PRE_AUTHORIZED_GRANT

export interface Deferral {
  /** The configuration of each request that waits or whose credentials have not been fetched. */
  readonly waiting: readonly string[]
  /** The application's decision; its data, where there is some, is the dataset of the session. */
  readonly decided?: DeferralDecision
}

export interface DeferralDecision {
  readonly at: number
  readonly denied?: { readonly reason?: string }
}

/** The credentials that one request got. */
export interface IssuedCopy {
  readonly configurationId: string
  readonly issuedAt: number
  /** How many credentials a batch has, each for another key; 1 when absent. */
  readonly count?: number
  /** The notifications of the wallet: the first of each kind of event. */
  readonly notifications?: readonly Notification[]
}

export interface Notification {
  readonly event: NotificationRequest['event']
  readonly at: number
  readonly description?: string
}

/** The transaction code that the holder has to type in. */
export interface TxCode {
  /**
   * Only this is kept of it: a MAC under a secret that no database holds. Absent where another server knows the code.
   */
  readonly mac?: string
  /** The description of the code in the offer. */
  readonly asked: {
    readonly input_mode: 'numeric' | 'text'
    readonly length?: number
    readonly description?: string
  }
  /** How many wrong ones have come. */
  readonly wrong: number
}

/** Refresh tokens of a session, of which only digests are kept. */
export interface RefreshPolicy {
  readonly until: number
  readonly digest: string
  /** The token before it, for as long as the wallet has not shown that it got the answer to it. */
  readonly retry?: string
  /** Some of those before that. */
  readonly spent: readonly string[]
}

export type IssuanceStatus = 'STARTED' | 'SUCCEEDED' | 'EXPIRED'

/**
 * Copies of one credential that a session gives out: for a wallet that lost the answer, not for a collection. A batch
 * is one.
 */
const MAX_COPIES = 10
/** Over all its access tokens: each takes an entry of a status list and room in the session. */
const MAX_ISSUED = 1000
/** Refresh tokens that are used up and known again. */
const MAX_SPENT = 10

/** The transaction code that is wrong this often takes the pre-authorized code with it. */
const MAX_WRONG = 5
const TOO_MANY_WRONG = 'the pre-authorized code is void after too many wrong transaction codes; ask for a new offer'

/** How long an access token is good. */
export const TOKEN_SECONDS = 300

/** Whether the offer of the session has the grant. */
export function hasGrant(
  { grants = [PRE_AUTHORIZED_GRANT] }: Pick<IssuanceSession, 'grants'>,
  grant: OfferGrant,
): boolean {
  return grants.includes(grant)
}

/** The credential issuer identifier of a session, or of the service. OpenID4VCI 1.0, Credential Issuer Identifier. */
export function issuerIdentifier({ baseUrl }: { readonly baseUrl: string }, sessionId: string | undefined): string {
  return sessionId === undefined ? baseUrl : `${baseUrl}/${sessionId}`
}

export function issuanceStatus(session: IssuanceSession, now: Date): IssuanceStatus {
  if (session.issued.length > 0) return 'SUCCEEDED'
  if (session.expiredAt !== undefined) return 'EXPIRED'
  return now.getTime() < endOfIssuance(session) ? 'STARTED' : 'EXPIRED'
}

/** A redeemed code keeps the session alive for the life of its token, and for as long as that can be refreshed. */
export function endOfIssuance({ expiresAt, lockedAt, token, refresh }: IssuanceSession): number {
  return lockedAt ?? Math.max(expiresAt, token?.expiresAt ?? 0, refresh?.until ?? 0)
}

/**
 * The pre-authorized code is good once, and for a while. Refuses with `invalid_grant`. OpenID4VCI 1.0, Token Endpoint.
 */
export function refuseUnlessRedeemable(session: IssuanceSession, now: Date): void {
  if (session.token !== undefined) refuse('invalid_grant', 'the pre-authorized code has been used')
  if (session.lockedAt !== undefined) refuse('invalid_grant', TOO_MANY_WRONG)
  if (session.expiredAt !== undefined || now.getTime() >= session.expiresAt) {
    refuse('invalid_grant', 'the pre-authorized code has expired')
  }
}

/**
 * Records that a copy has been issued. Refuses with `credential_request_denied` after ten of the same configuration for
 * one access token, and when the session has issued a thousand credentials; with `invalid_token` once the end of the
 * session was recorded, as another process may be a moment ahead.
 */
export function recordIssued(
  session: IssuanceSession,
  { configurationId, count, at }: { readonly configurationId: string; readonly count: number; readonly at: Date },
): IssuanceSession {
  refuseOver(session)
  refuseMoreThanTen(session, configurationId)
  const copy = { configurationId, issuedAt: at.getTime(), ...(count === 1 ? {} : { count }) }
  return { ...withReceived(session), issued: [...session.issued, copy] }
}

/** The token before the current one is used up for good; some of those are known again when they come. */
export function withoutRetry({ retry, spent, ...rest }: RefreshPolicy): RefreshPolicy {
  return { ...rest, spent: retry === undefined ? spent : [...spent, retry].slice(-MAX_SPENT) }
}

/**
 * Ends all tokens of the session, since a refresh token that is used up came again: it may be stolen. RFC 9700
 * section 4.14.2.
 */
export function endRefresh(session: IssuanceSession, now: Date): IssuanceSession {
  const { token, refresh } = session
  const at = now.getTime()
  return {
    ...session,
    ...(token && { token: { ...token, expiresAt: Math.min(token.expiresAt, at) } }),
    ...(refresh && { refresh: { ...refresh, until: Math.min(refresh.until, at) } }),
  }
}

/** Ends refreshing, since the credentials of the session have been revoked. */
export function endRefreshing(session: IssuanceSession, now: Date): IssuanceSession {
  const { refresh } = session
  const until = now.getTime()
  return refresh === undefined || refresh.until <= until ? session : { ...session, refresh: { ...refresh, until } }
}

/** Records a wrong transaction code. OpenID4VCI 1.0, Transaction Code Phishing. */
export function recordWrongTxCode(session: IssuanceSession, now: Date): IssuanceSession {
  const { txCode } = session
  if (txCode === undefined) return session
  const wrong = txCode.wrong + 1
  return { ...session, txCode: { ...txCode, wrong }, ...(wrong >= MAX_WRONG ? { lockedAt: now.getTime() } : {}) }
}

/** Whether the wallet has said this before, of what it was given at that place. */
export function isNotified({ issued }: IssuanceSession, place: number, event: Notification['event']): boolean {
  return issued[place]?.notifications?.some((notification) => notification.event === event) ?? false
}

/**
 * The wallet has said something of what it was given at that place. Refuses with `invalid_token` once the session was
 * erased: its words would stay.
 */
export function recordNotification(
  session: IssuanceSession,
  place: number,
  notification: Notification,
): IssuanceSession {
  refuseOver(session)
  const issued = session.issued.map((copy, index) =>
    index === place ? { ...copy, notifications: [...(copy.notifications ?? []), notification] } : copy,
  )
  return { ...session, issued }
}

/** Whether the application has yet to say what the credentials are filled with. */
export function isUndecided({ deferral }: IssuanceSession): boolean {
  return deferral !== undefined && deferral.decided === undefined
}

/**
 * Records a request that waits for the application. Refuses with `credential_request_denied` after ten of the same
 * configuration.
 */
export function recordWaiting(session: IssuanceSession, configurationId: string): IssuanceSession {
  refuseOver(session)
  refuseMoreThanTen(session, configurationId)
  const { deferral } = session
  const waiting = [...(deferral?.waiting ?? []), configurationId]
  return { ...withReceived(session), deferral: { ...deferral, waiting } }
}

/** Records that a request has got its credentials, and waits no longer. */
export function recordFetched(session: IssuanceSession, configurationId: string): IssuanceSession {
  const waiting = [...(session.deferral?.waiting ?? [])]
  const place = waiting.indexOf(configurationId)
  if (place >= 0) waiting.splice(place, 1)
  return { ...session, deferral: { ...session.deferral, waiting } }
}

export function recordDecision(session: IssuanceSession, decided: DeferralDecision): IssuanceSession {
  return { ...session, deferral: { waiting: session.deferral?.waiting ?? [], decided } }
}

/**
 * Without what the application and wallets said in their own words, and what the offer said of a transaction code: any
 * of it may name somebody.
 */
export function withoutWords({ deferral, issued, ...session }: IssuanceSession): IssuanceSession {
  const decided = deferral?.decided?.denied === undefined ? deferral?.decided : { ...deferral.decided, denied: {} }
  return {
    ...session,
    txCode: undefined,
    ...(deferral && { deferral: { ...deferral, ...(decided && { decided }) } }),
    issued: issued.map(({ notifications, ...copy }) => ({
      ...copy,
      ...(notifications && { notifications: notifications.map(({ event, at }) => ({ event, at })) }),
    })),
  }
}

/** Another process may be a moment ahead. */
function refuseOver({ expiredAt, erasedAt }: IssuanceSession): void {
  if (expiredAt !== undefined || erasedAt !== undefined) refuse('invalid_token', 'the access token has expired')
}

/** Copies that were given out for this access token, and those that are waited for; and how much room there is. */
function refuseMoreThanTen({ issued, token, deferral }: IssuanceSession, configurationId: string): void {
  const issuedIds = issued.slice(token?.issuedBefore ?? 0).map((copy) => copy.configurationId)
  const ids = [...issuedIds, ...(deferral?.waiting ?? [])]
  if (ids.filter((id) => id === configurationId).length >= MAX_COPIES) {
    refuse('credential_request_denied', `this credential has been issued ${MAX_COPIES} times for this access token`)
  }
  if (issued.reduce((sum, copy) => sum + (copy.count ?? 1), 0) >= MAX_ISSUED) {
    refuse('credential_request_denied', `this session has issued ${MAX_ISSUED} credentials; start a new one`)
  }
}

/** The wallet has the access token, and with it the refresh token that came along. */
function withReceived(session: IssuanceSession): IssuanceSession {
  const { refresh } = session
  return refresh?.retry === undefined ? session : { ...session, refresh: withoutRetry(refresh) }
}
