/**
 * The issuance session: its data, and its state transitions as pure functions. The session stores facts, and its status
 * is computed from them and the current time. `issued-tokens.ts` has the part that starts when the code is redeemed.
 */
import { refuse } from '../protocol/error.ts'
import { type AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant-types.ts'
import type { NotificationRequest } from '../protocol/oid4vci.ts'
import { endOfTokens, type IssuedTokens, recordReceipt } from './issued-tokens.ts'
import type { IssuanceStatus } from './session-schema.ts'

/** A session by the state of its code: not redeemed, locked or redeemed. Also covers rows of earlier releases. */
export type IssuanceSession = UnredeemedSession | LockedSession | RedeemedSession

/** A session whose code was not redeemed, or whose tokens an external authorization server issues. */
export interface UnredeemedSession extends SessionFacts {
  readonly lockedAt?: never
  readonly token?: never
  readonly client?: never
  readonly refresh?: never
}

/** A session whose code is locked after too many wrong transaction codes. */
export interface LockedSession extends SessionFacts {
  readonly lockedAt: number
  readonly token?: never
  readonly client?: never
  readonly refresh?: never
}

/** A session whose code has been redeemed. */
export interface RedeemedSession extends SessionFacts, IssuedTokens {
  readonly lockedAt?: never
}

/** The members of a session in all states of its code. */
interface SessionFacts {
  readonly configurationIds: readonly string[]
  /** Times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  /** When the offer was first fetched, if the code was redeemed right after that. */
  readonly offerFetchedAt?: number
  /** The grants of the offer. When absent, only the pre-authorized code grant; empty if there is no offer. */
  readonly grants?: readonly OfferGrant[]
  /** The encrypted pre-authorized code, if the application supplied it. */
  readonly suppliedCode?: string
  /** The transaction code, if the offer has one. */
  readonly txCode?: TxCode | undefined
  /** The claims that the person who signs in for the offer must have. */
  readonly person?: Readonly<Record<string, string>> | undefined
  /** Present in a session that was started without a dataset. */
  readonly deferral?: Deferral
  /** The seconds from redemption during which the wallet can refresh its tokens. */
  readonly refreshSeconds?: number
  /** The issued batches, oldest first. A notification_id has the index, so the order never changes. */
  readonly issued: readonly IssuedBatch[]
  /** When the session was recorded as expired. An expired session stays expired. */
  readonly expiredAt?: number
  /** When the dataset was erased. */
  readonly erasedAt?: number
  /** The `order` of the session's last event; absent until the second, since that of the first is `createdAt`. */
  readonly lastEvent?: number
}

export type OfferGrant = typeof AUTHORIZATION_CODE_GRANT | typeof PRE_AUTHORIZED_GRANT

export interface Deferral {
  /** The configuration id of each deferred request whose credentials were not fetched. */
  readonly waiting: readonly string[]
  /** The application's decision. An approved dataset is stored in `issuance_dataset`. */
  readonly decided?: DeferralDecision
}

export interface DeferralDecision {
  readonly at: number
  readonly denied?: { readonly reason?: string }
  /** The authorization request for whose person the dataset was provided, if any. */
  readonly requestId?: string
}

/** The credentials of one request. */
export interface IssuedBatch {
  readonly configurationId: string
  readonly issuedAt: number
  /** The number of credentials in the batch; 1 when absent. */
  readonly count?: number
  /** The wallet's notifications; the first one of each event. */
  readonly notifications?: readonly Notification[]
}

export interface Notification {
  readonly event: NotificationRequest['event']
  readonly at: number
  readonly description?: string
}

/** The transaction code that the user enters. */
export interface TxCode {
  /** The MAC of the code; the code itself is not stored. Absent if an external authorization server checks the code. */
  readonly mac?: string
  /** How the offer describes the code. */
  readonly asked: {
    readonly input_mode: 'numeric' | 'text'
    readonly length?: number
    readonly description?: string
  }
  /** The number of wrong attempts. */
  readonly wrong: number
}

/** The maximum number of batches of a configuration for each access token. A wallet that lost a response asks again. */
const MAX_BATCHES = 10
/** The maximum number of credentials of a session. */
const MAX_ISSUED = 1000

/** The maximum number of notifications of a session, since the event of each has the status of the whole session. */
export const MAX_NOTIFICATIONS = 200

/** The number of wrong transaction codes that locks the code. */
const MAX_WRONG_TX_CODES = 5

/** Tests whether the offer of the session has the grant. */
export function hasGrant(
  { grants = [PRE_AUTHORIZED_GRANT] }: Pick<IssuanceSession, 'grants'>,
  grant: OfferGrant,
): boolean {
  return grants.includes(grant)
}

/** Tests whether the session has an offer; the session of a wallet that came by itself has none. */
export function hasOffer({ grants }: Pick<IssuanceSession, 'grants'>): boolean {
  return grants?.length !== 0
}

/** Returns the status of a session, as the application sees it. */
export function issuanceStatus(session: IssuanceSession, now: Date): IssuanceStatus {
  if (session.issued.length > 0) return 'SUCCEEDED'
  if (session.expiredAt !== undefined) return 'EXPIRED'
  return now.getTime() < endOfSession(session) ? 'STARTED' : 'EXPIRED'
}

/**
 * Returns when the session ends: at its expiry, or after redemption when its tokens end, since its code is good once;
 * or when it was locked or has expired.
 */
export function endOfSession(session: IssuanceSession): number {
  const { expiresAt, expiredAt, lockedAt, token } = session
  const end = token === undefined ? expiresAt : endOfTokens(session)
  return lockedAt ?? Math.min(end, expiredAt ?? end)
}

/** Refuses with `code` if the offer was used, is locked or has expired. */
export function refuseUnlessUnused(
  session: IssuanceSession,
  now: Date,
  code: 'invalid_grant' | 'invalid_request' | 'gone',
): asserts session is UnredeemedSession {
  // With an external authorization server, the first issued credential shows that the offer was used.
  if (session.token !== undefined || session.issued.length > 0) {
    refuse(code, 'the credential offer has been used; ask for a new one')
  }
  if (session.lockedAt !== undefined) {
    refuse(code, 'the credential offer is void after too many wrong transaction codes; ask for a new one')
  }
  if (session.expiredAt !== undefined || now.getTime() >= session.expiresAt) {
    refuse(code, 'the credential offer has expired; ask for a new one')
  }
}

/** Credentials of one configuration that are issued together. */
interface NewBatch {
  readonly configurationId: string
  readonly count: number
  readonly at: Date
}

/** Records an issued batch. Refuses like {@link refuseOverLimits}. */
export function recordIssued(session: IssuanceSession, newBatch: NewBatch): IssuanceSession {
  refuseOverLimits(session, newBatch)
  const { configurationId, count, at } = newBatch
  const batch = { configurationId, issuedAt: at.getTime(), ...(count === 1 ? {} : { count }) }
  return { ...recordReceipt(session), issued: [...session.issued, batch] }
}

/**
 * Records a wrong transaction code, and locks the session after the fifth. OpenID4VCI 1.0, Transaction Code Phishing.
 */
export function recordWrongTxCode(session: UnredeemedSession, now: Date): UnredeemedSession | LockedSession {
  const { txCode } = session
  if (txCode === undefined) return session
  const wrongCount = txCode.wrong + 1
  const countedSession = { ...session, txCode: { ...txCode, wrong: wrongCount } }
  return wrongCount < MAX_WRONG_TX_CODES ? countedSession : { ...countedSession, lockedAt: now.getTime() }
}

/** Tests whether the wallet has sent this event before for the batch at `index` of `issued`. */
export function isNotified({ issued }: IssuanceSession, index: number, event: Notification['event']): boolean {
  return issued[index]?.notifications?.some((notification) => notification.event === event) ?? false
}

/** Tests whether the session has the maximum number of notifications. */
export function hasMaxNotifications({ issued }: IssuanceSession): boolean {
  return issued.reduce((sum, { notifications = [] }) => sum + notifications.length, 0) >= MAX_NOTIFICATIONS
}

/**
 * Records a notification for the batch at `index` of `issued`. Refuses with `invalid_token` if the session was erased,
 * since its free text would be stored again.
 */
export function recordNotification(
  session: IssuanceSession,
  index: number,
  notification: Notification,
): IssuanceSession {
  refuseEnded(session)
  const issued = session.issued.map((batch, at) =>
    at === index ? { ...batch, notifications: [...(batch.notifications ?? []), notification] } : batch,
  )
  return { ...session, issued }
}

/** Tests whether a deferred session waits for the application's decision. */
export function isUndecided({ deferral }: IssuanceSession): boolean {
  return deferral !== undefined && deferral.decided === undefined
}

/** Records a deferred request. Refuses like {@link refuseOverLimits}. */
export function recordDeferred(session: IssuanceSession, configurationId: string): IssuanceSession {
  refuseOverLimits(session, { configurationId, count: 1 })
  const { deferral } = session
  const waiting = [...(deferral?.waiting ?? []), configurationId]
  return { ...recordReceipt(session), deferral: { ...deferral, waiting } }
}

/** Records that the credentials of a deferred request were fetched. */
export function recordFetched(session: IssuanceSession, configurationId: string): IssuanceSession {
  const waiting = [...(session.deferral?.waiting ?? [])]
  const index = waiting.indexOf(configurationId)
  if (index >= 0) waiting.splice(index, 1)
  return { ...session, deferral: { ...session.deferral, waiting } }
}

/** Records the application's decision on the dataset. */
export function recordDecision(session: IssuanceSession, decided: DeferralDecision): IssuanceSession {
  return { ...session, deferral: { waiting: session.deferral?.waiting ?? [], decided } }
}

/**
 * Removes the free text of the application and the wallet, the `person` and the transaction code, which may identify
 * the person.
 */
export function removeFreeText({ deferral, issued, ...session }: IssuanceSession): IssuanceSession {
  const decided = deferral?.decided?.denied === undefined ? deferral?.decided : { ...deferral.decided, denied: {} }
  return {
    ...session,
    txCode: undefined,
    person: undefined,
    ...(deferral && { deferral: { ...deferral, ...(decided && { decided }) } }),
    issued: issued.map(({ notifications, ...batch }) => ({
      ...batch,
      ...(notifications && { notifications: notifications.map(({ event, at }) => ({ event, at })) }),
    })),
  }
}

/** The description for an access token that has expired, or whose session has. */
export const EXPIRED_TOKEN = 'the access token has expired; refresh it, or ask for a new offer'

/** Refuses with `invalid_token` if another process has ended the session. */
function refuseEnded({ expiredAt, erasedAt }: IssuanceSession): void {
  if (expiredAt !== undefined || erasedAt !== undefined) refuse('invalid_token', EXPIRED_TOKEN)
}

/**
 * Refuses with `credential_request_denied` after ten batches of the same configuration for one access token, those that
 * wait for a decision among them, and after a thousand credentials of the session. Refuses with `invalid_token` if
 * another process has ended the session.
 */
export function refuseOverLimits(
  session: IssuanceSession,
  { configurationId, count }: Pick<NewBatch, 'configurationId' | 'count'>,
): void {
  refuseEnded(session)
  const { issued, token, deferral } = session
  const issuedIds = issued.slice(token?.issuedBefore ?? 0).map((batch) => batch.configurationId)
  // After the decision a wallet that lost its transaction ids asks anew.
  const waitingIds = isUndecided(session) ? (deferral?.waiting ?? []) : []
  const ids = [...issuedIds, ...waitingIds]
  if (ids.filter((id) => id === configurationId).length >= MAX_BATCHES) {
    refuse(
      'credential_request_denied',
      `this credential has been issued or asked for ${MAX_BATCHES} times by this access token; refresh it, or ask for a new offer`,
    )
  }
  if (issued.reduce((sum, batch) => sum + (batch.count ?? 1), count) > MAX_ISSUED) {
    refuse('credential_request_denied', `a session issues at most ${MAX_ISSUED} credentials; ask for a new offer`)
  }
}
