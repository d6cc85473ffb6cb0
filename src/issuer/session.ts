/**
 * The issuance session: data, and the transitions between its states as functions on it. What is stored is facts;
 * the state is derived from them and the time, so that no clock has to write it. `authorization.ts` has the part that
 * begins when the code of the offer is redeemed.
 */
import { refuse } from '../protocol/error.ts'
import { type AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import type { NotificationRequest } from '../protocol/oid4vci.ts'
import { type Authorization, endOfAuthorization, recordReceipt } from './authorization.ts'

/**
 * A session by the state of its code: on offer, void, or redeemed. The type is also that of the stored rows, those of
 * earlier releases included.
 */
export type IssuanceSession = OfferedSession | LockedSession | AuthorizedSession

/** A session whose code nobody has redeemed, or whose access tokens come from another server. */
export interface OfferedSession extends SessionFacts {
  readonly lockedAt?: never
  readonly token?: never
  readonly client?: never
  readonly refresh?: never
}

/** A session whose code nobody can redeem any more: too many wrong transaction codes came. */
export interface LockedSession extends SessionFacts {
  readonly lockedAt: number
  readonly token?: never
  readonly client?: never
  readonly refresh?: never
}

/** A session whose code has been redeemed. */
export interface AuthorizedSession extends SessionFacts, Authorization {
  readonly lockedAt?: never
}

/** The members of a session in every state of its code. */
interface SessionFacts {
  readonly configurationIds: readonly string[]
  /** Times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  /** When the offer was fetched first, where the code was redeemed right after that. */
  readonly offerFetchedAt?: number
  /** The grants of the offer; the pre-authorized code alone where it is absent, and none where there is no offer. */
  readonly grants?: readonly OfferGrant[]
  /** The pre-authorized code, encrypted, where the application supplied it. */
  readonly suppliedCode?: string
  /** The transaction code, where the offer asks for one. */
  readonly txCode?: TxCode | undefined
  /** The claims that whoever signs in for the offer has to have. */
  readonly person?: Readonly<Record<string, string>> | undefined
  /** Present in a session that was started without its dataset. */
  readonly deferral?: Deferral
  /** The seconds after the redemption of the code for which the wallet may renew its credentials. */
  readonly refreshSeconds?: number
  /** Copies given out, oldest first; the index is part of a notification_id and never changes. */
  readonly issued: readonly IssuedBatch[]
  /** The time at which the end of the session without a credential was recorded; nothing revives the session. */
  readonly expiredAt?: number
  /** The time at which the dataset of the session was erased. */
  readonly erasedAt?: number
  /** The order of the last event of the session; absent while the first event is the only one. */
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
  /** The authorization request whose person the data is of, where the application said so. */
  readonly requestId?: string
}

/** The credentials that one request got. */
export interface IssuedBatch {
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
   * The MAC of the code under a secret that no database holds; nothing else of the code is kept. Absent where another
   * server knows the code.
   */
  readonly mac?: string
  /** The description of the code in the offer. */
  readonly asked: {
    readonly input_mode: 'numeric' | 'text'
    readonly length?: number
    readonly description?: string
  }
  /** How many wrong transaction codes have come. */
  readonly wrong: number
}

export type IssuanceStatus = 'STARTED' | 'SUCCEEDED' | 'EXPIRED'

/** The most copies of a credential for an access token: for a wallet that lost the answer. A batch is one copy. */
const MAX_BATCHES = 10
/** The most credentials of a session: each takes an entry of a status list and room in the session. */
const MAX_ISSUED = 1000

/** The number of wrong transaction codes after which the pre-authorized code is locked. */
const MAX_WRONG_TX_CODES = 5
const TOO_MANY_WRONG_TX_CODES =
  'the pre-authorized code is void after too many wrong transaction codes; ask for a new offer'

/** Tests whether the offer of the session has the grant. */
export function hasGrant(
  { grants = [PRE_AUTHORIZED_GRANT] }: Pick<IssuanceSession, 'grants'>,
  grant: OfferGrant,
): boolean {
  return grants.includes(grant)
}

/** Returns the status of a session that the application is told. */
export function issuanceStatus(session: IssuanceSession, now: Date): IssuanceStatus {
  if (session.issued.length > 0) return 'SUCCEEDED'
  if (session.expiredAt !== undefined) return 'EXPIRED'
  return now.getTime() < endOfIssuance(session) ? 'STARTED' : 'EXPIRED'
}

/** Returns when the session ends: not before the token ends, or can be refreshed no more; or when it was made void. */
export function endOfIssuance(session: IssuanceSession): number {
  const { expiresAt, expiredAt, lockedAt, token } = session
  const end = token === undefined ? expiresAt : Math.max(expiresAt, endOfAuthorization(session))
  return lockedAt ?? Math.min(end, expiredAt ?? end)
}

/**
 * Refuses with `invalid_grant` a pre-authorized code that was used or has expired, or whose session is locked.
 * OpenID4VCI 1.0, Token Endpoint.
 */
export function refuseUnlessRedeemable(session: IssuanceSession, now: Date): asserts session is OfferedSession {
  if (session.token !== undefined) refuse('invalid_grant', 'the pre-authorized code has been used')
  if (session.lockedAt !== undefined) refuse('invalid_grant', TOO_MANY_WRONG_TX_CODES)
  if (session.expiredAt !== undefined || now.getTime() >= session.expiresAt) {
    refuse('invalid_grant', 'the pre-authorized code has expired')
  }
}

/**
 * Refuses with `code` a session whose offer cannot be taken by the authorization code flow any more: it is good for one
 * wallet, and for a while.
 */
export function refuseUnlessUnused(
  session: IssuanceSession,
  now: Date,
  code: 'invalid_grant' | 'invalid_request' | 'gone',
): asserts session is OfferedSession {
  if (session.token !== undefined) refuse(code, 'the credential offer has been used; ask for a new one')
  if (session.lockedAt !== undefined) refuse(code, 'the credential offer is void; ask for a new one')
  if (session.expiredAt !== undefined || now.getTime() >= session.expiresAt) {
    refuse(code, 'the credential offer has expired; ask for a new one')
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
  refuseEnded(session)
  limitCredentials(session, configurationId, count)
  const copy = { configurationId, issuedAt: at.getTime(), ...(count === 1 ? {} : { count }) }
  return { ...recordReceipt(session), issued: [...session.issued, copy] }
}

/** Records a wrong transaction code. OpenID4VCI 1.0, Transaction Code Phishing. */
export function recordWrongTxCode(session: OfferedSession, now: Date): OfferedSession | LockedSession {
  const { txCode } = session
  if (txCode === undefined) return session
  const wrongCount = txCode.wrong + 1
  const countedSession = { ...session, txCode: { ...txCode, wrong: wrongCount } }
  return wrongCount < MAX_WRONG_TX_CODES ? countedSession : { ...countedSession, lockedAt: now.getTime() }
}

/** Tests whether the wallet has notified of the event before, for the credentials at `index` of `issued`. */
export function isNotified({ issued }: IssuanceSession, index: number, event: Notification['event']): boolean {
  return issued[index]?.notifications?.some((notification) => notification.event === event) ?? false
}

/**
 * Records a notification of the wallet for the credentials at `index` of `issued`. Refuses with `invalid_token` once
 * the session was erased, since the text of the notification would stay.
 */
export function recordNotification(
  session: IssuanceSession,
  index: number,
  notification: Notification,
): IssuanceSession {
  refuseEnded(session)
  const issued = session.issued.map((copy, at) =>
    at === index ? { ...copy, notifications: [...(copy.notifications ?? []), notification] } : copy,
  )
  return { ...session, issued }
}

/** Tests whether the application has not decided yet about the dataset of the credentials. */
export function isUndecided({ deferral }: IssuanceSession): boolean {
  return deferral !== undefined && deferral.decided === undefined
}

/**
 * Records a request that waits for the application. Refuses with `credential_request_denied` after ten of the same
 * configuration.
 */
export function recordDeferred(session: IssuanceSession, configurationId: string): IssuanceSession {
  refuseEnded(session)
  limitCredentials(session, configurationId, 1)
  const { deferral } = session
  const waiting = [...(deferral?.waiting ?? []), configurationId]
  return { ...recordReceipt(session), deferral: { ...deferral, waiting } }
}

/** Records that a request has got its credentials, and waits no longer. */
export function recordFetched(session: IssuanceSession, configurationId: string): IssuanceSession {
  const waiting = [...(session.deferral?.waiting ?? [])]
  const index = waiting.indexOf(configurationId)
  if (index >= 0) waiting.splice(index, 1)
  return { ...session, deferral: { ...session.deferral, waiting } }
}

/** Records the decision of the application about the dataset. */
export function recordDecision(session: IssuanceSession, decided: DeferralDecision): IssuanceSession {
  return { ...session, deferral: { waiting: session.deferral?.waiting ?? [], decided } }
}

/**
 * Removes from a session the free text of the application and of wallets, the person, and the transaction code, as each
 * may identify somebody.
 */
export function removeFreeText({ deferral, issued, ...session }: IssuanceSession): IssuanceSession {
  const decided = deferral?.decided?.denied === undefined ? deferral?.decided : { ...deferral.decided, denied: {} }
  return {
    ...session,
    txCode: undefined,
    person: undefined,
    ...(deferral && { deferral: { ...deferral, ...(decided && { decided }) } }),
    issued: issued.map(({ notifications, ...copy }) => ({
      ...copy,
      ...(notifications && { notifications: notifications.map(({ event, at }) => ({ event, at })) }),
    })),
  }
}

/** Refuses with `invalid_token` a session that another process has ended since it was read. */
function refuseEnded({ expiredAt, erasedAt }: IssuanceSession): void {
  if (expiredAt !== undefined || erasedAt !== undefined) refuse('invalid_token', 'the access token has expired')
}

/**
 * Refuses with `credential_request_denied` more copies of a credential, or credentials of a session, than there may be.
 */
function limitCredentials({ issued, token, deferral }: IssuanceSession, configurationId: string, count: number): void {
  const issuedIds = issued.slice(token?.issuedBefore ?? 0).map((copy) => copy.configurationId)
  const ids = [...issuedIds, ...(deferral?.waiting ?? [])]
  if (ids.filter((id) => id === configurationId).length >= MAX_BATCHES) {
    refuse('credential_request_denied', `this credential has been issued ${MAX_BATCHES} times for this access token`)
  }
  if (issued.reduce((sum, copy) => sum + (copy.count ?? 1), count) > MAX_ISSUED) {
    refuse('credential_request_denied', `a session issues at most ${MAX_ISSUED} credentials; start a new one`)
  }
}
