/** The verification session: its data, its states, and the end that a response of a wallet brings. */
import type { Retention } from '../config/retention.ts'
import { type EventCollections, type EventType, nextEventOrder, recordEvent } from '../event/event.ts'
import type { PrivateJwk } from '../keys/private-jwk.ts'
import { refuse } from '../protocol/error.ts'
import { authorizationErrors, type ResponseMode } from '../protocol/oid4vp.ts'
import type { Change } from '../store/store.ts'
import type { VerificationReport } from './verification.ts'

export interface VerificationSession {
  readonly queryId: string
  /** Times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly nonce: string
  readonly state: string
  /**
   * The client identifier, which is kept so that a wallet's answer still fits after the certificate has been renewed.
   */
  readonly clientId: string
  /** Absent where the mode is direct_post. */
  readonly responseMode?: ResponseMode
  /** The key to which the response is encrypted, while the session waits for one. */
  readonly encryptionKey?: PrivateJwk | undefined
  /** Where the application wants the person to go on. */
  readonly redirectUri?: string
  /** The digest of the code in the redirect. */
  readonly responseCodeDigest?: string
  /** The transaction data as the request has it. */
  readonly transactionData?: readonly string[] | undefined
  readonly outcome?: VerificationOutcome
  /** The time of the outcome; absent in sessions of earlier releases. */
  readonly finishedAt?: number
  /** The time at which the expiry was recorded: an expired session stays expired. */
  readonly expiredAt?: number
  /** The time at which the personal data were erased. */
  readonly erasedAt?: number
}

export type VerificationOutcome = { readonly report: VerificationReport } | { readonly walletError: ReportedError }

/** The error of a wallet that does not present. RFC 6749 section 4.1.2.1. */
export interface ReportedError {
  /** A code that is registered, or {@link UNREGISTERED_ERROR}. */
  readonly error: string
  readonly error_description?: string
}

/** The code in place of an error of a wallet that no specification knows, which could be any text. */
const UNREGISTERED_ERROR = 'unregistered_error'

/** Returns the code, or {@link UNREGISTERED_ERROR} in place of a code that is not registered. */
export function registeredError(error: string): string {
  return authorizationErrors.has(error) ? error : UNREGISTERED_ERROR
}

export type VerificationStatus = 'STARTED' | 'VERIFICATION_SUCCEEDED' | 'VERIFICATION_FAILED' | 'DECLINED' | 'EXPIRED'

/** The event that is recorded when a session comes into a state. */
const EVENT_TYPES: Readonly<Record<VerificationStatus, EventType>> = {
  STARTED: 'verification.started',
  VERIFICATION_SUCCEEDED: 'verification.succeeded',
  VERIFICATION_FAILED: 'verification.failed',
  DECLINED: 'verification.declined',
  EXPIRED: 'verification.expired',
}

export function modeOf({ responseMode }: VerificationSession): ResponseMode {
  return responseMode ?? 'direct_post'
}

/** Returns the address to which the wallet of a session sends its response. */
export function responseUriOf(
  { baseUrl }: { readonly baseUrl: string },
  sessionId: string,
  session: VerificationSession,
): string {
  const endpoint = modeOf(session) === 'direct_post' ? 'authorization-response' : 'encrypted-authorization-response'
  return `${baseUrl}/presentation/oid4vp/${endpoint}/${sessionId}`
}

/** Returns the time when the session came, or will come, to its final state. */
export function endOfVerification({ outcome, finishedAt, expiresAt, expiredAt }: VerificationSession): number {
  // A session that a restore made void ends before its time, and the expiry of others is recorded after theirs.
  return outcome === undefined ? Math.min(expiresAt, expiredAt ?? expiresAt) : (finishedAt ?? expiresAt)
}

/** Returns the times of a session for the application. An end is absent where an earlier release recorded none. */
export function sessionTimes(session: VerificationSession, now: Date) {
  const { createdAt, expiresAt, finishedAt } = session
  const endedAt = verificationStatus(session, now) === 'EXPIRED' ? endOfVerification(session) : finishedAt
  return {
    created_at: Math.floor(createdAt / 1000),
    expires_at: Math.floor(expiresAt / 1000),
    ...(endedAt === undefined ? {} : { ended_at: Math.floor(endedAt / 1000) }),
  }
}

/** Returns the time when the personal data of an ended session are to be erased. */
export function erasureDate(session: VerificationSession, { personalDataSeconds }: Retention): Date {
  return new Date(endOfVerification(session) + personalDataSeconds * 1000)
}

export function verificationStatus(
  { outcome, expiresAt, expiredAt }: VerificationSession,
  now: Date,
): VerificationStatus {
  if (outcome === undefined) return expiredAt === undefined && now.getTime() < expiresAt ? 'STARTED' : 'EXPIRED'
  if ('report' in outcome) return outcome.report.verified ? 'VERIFICATION_SUCCEEDED' : 'VERIFICATION_FAILED'
  return outcome.walletError.error === 'access_denied' ? 'DECLINED' : 'VERIFICATION_FAILED'
}

/** Refuses with `gone` when the session has expired, and with `invalid_request` when it has had its response. */
export function refuseUnlessOpen(session: VerificationSession, now: Date): void {
  if (session.outcome !== undefined) refuseFinished()
  if (verificationStatus(session, now) === 'EXPIRED') refuse('gone', 'this session has expired')
}

export function refuseFinished(): never {
  return refuse('invalid_request', 'this session has had its response')
}

/** Ends an open session. Refuses like {@link refuseUnlessOpen}, so that a session takes exactly one response. */
export function finishSession(
  session: VerificationSession,
  outcome: VerificationOutcome,
  now: Date,
): VerificationSession {
  refuseUnlessOpen(session, now)
  // A later reader of the database cannot decrypt a recorded response.
  return { ...session, encryptionKey: undefined, outcome, finishedAt: now.getTime() }
}

/** A session that has come to a final state, and the time of that. */
interface EndedSession {
  readonly sessionId: string
  readonly session: VerificationSession
  readonly now: Date
}

/** Makes the event of a session that has come to a final state, for the batch of that change. */
export function makeEndEvent(
  { random }: { readonly random: (bytes: number) => Uint8Array },
  { sessionId, session, now }: EndedSession,
): Change<EventCollections> {
  const type = EVENT_TYPES[verificationStatus(session, now)]
  const order = nextEventOrder(now, session.createdAt)
  return recordEvent({ type, at: now.getTime(), order, sessionId }, random)
}
