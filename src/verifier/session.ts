/** The verification session: its data, its states, and its end by the wallet's response. */
import { epochSeconds } from '../codec/time.ts'
import type { Retention } from '../config/retention.ts'
import { type EventCollections, type EventType, makeEventChange, nextEventOrder } from '../event/event.ts'
import type { PrivateJwk } from '../keys/private-jwk.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { authorizationErrors, type ResponseMode } from '../protocol/oid4vp.ts'
import type { Change } from '../store/store.ts'
import type { VerificationStatus } from './report-schemas.ts'
import type { VerificationReport } from './verification.ts'

export interface VerificationSession {
  readonly queryId: string
  /** The time of creation. All times are milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly nonce: string
  readonly state: string
  /**
   * The client identifier at the start of the session. The response still refers to it after the certificate was
   * renewed.
   */
  readonly clientId: string
  /**
   * The response mode of the link, or `dc_api.jwt` if the session has no link; direct_post when absent. An answered
   * session has the mode of its response.
   */
  readonly responseMode?: ResponseMode
  /** The origin of the page that may ask the browser (the Digital Credentials API); absent if none may. */
  readonly origin?: string
  /** The key that decrypts the response, while the session is open. */
  readonly encryptionKey?: PrivateJwk | undefined
  /** The application's redirect URI for the same-device flow. */
  readonly redirectUri?: string
  /** The digest of the response code. */
  readonly responseCodeDigest?: string
  /** The encoded `transaction_data` of the request. */
  readonly transactionData?: readonly string[] | undefined
  /** When the request object was first fetched, if that was not yet in the session's progress at its response. */
  readonly requestFetchedAt?: number
  readonly outcome?: VerificationOutcome
  /** When the outcome was stored; absent in sessions of earlier releases. */
  readonly finishedAt?: number
  /** When the expiry was recorded. An expired session stays expired. */
  readonly expiredAt?: number
  /** When the personal data was erased. */
  readonly erasedAt?: number
}

export type VerificationOutcome = ReportedOutcome | { readonly walletError: ReportedError }

interface ReportedOutcome {
  readonly report: VerificationReport
  /**
   * The id of the descriptions of the checks in the database. Absent in sessions of earlier releases, where each result
   * has its description.
   */
  readonly checkDescriptions?: string
}

/** The error response of a wallet. RFC 6749 section 4.1.2.1. */
export interface ReportedError {
  /** A registered error code, or {@link UNREGISTERED_ERROR}. */
  readonly error: string
  readonly error_description?: string
}

/** The code in place of an unregistered one, which may be any text. */
const UNREGISTERED_ERROR = 'unregistered_error'

/** Returns the code if it is registered, and otherwise {@link UNREGISTERED_ERROR}. */
export function registeredError(error: string): string {
  return authorizationErrors.has(error) ? error : UNREGISTERED_ERROR
}

/** The paths of the endpoints for wallets and pages. Below them is the endpoint of each session. */
export const VERIFIER_PATHS = {
  request: '/presentation/oid4vp/authorization-request',
  direct_post: '/presentation/oid4vp/authorization-response',
  'direct_post.jwt': '/presentation/oid4vp/encrypted-authorization-response',
  'dc_api.jwt': '/presentation/oid4vp/digital-credentials',
  'org-iso-mdoc': '/presentation/oid4vp/digital-credentials',
} as const satisfies Readonly<Record<ResponseMode | 'request', string>>

/** The event for each state that a session enters. */
const EVENT_OF_STATUS: Readonly<Record<VerificationStatus, EventType>> = {
  STARTED: 'verification.started',
  VERIFICATION_SUCCEEDED: 'verification.succeeded',
  VERIFICATION_FAILED: 'verification.failed',
  DECLINED: 'verification.declined',
  EXPIRED: 'verification.expired',
}

/** Returns the query of a session. Throws an Error when there is none: queries are never removed. */
export async function requireSessionQuery(
  { loadQuery }: { readonly loadQuery: (id: string) => Promise<DcqlQuery | undefined> },
  { queryId }: VerificationSession,
): Promise<DcqlQuery> {
  const query = await loadQuery(queryId)
  if (query === undefined) throw new Error(`the verification query ${queryId} of a session is not in the database`)
  return query
}

/** Returns the key of an open session whose response can be encrypted. */
export function requireEncryptionKey({ encryptionKey }: VerificationSession): PrivateJwk {
  if (encryptionKey === undefined) throw new Error('an open session has no key for its response')
  return encryptionKey
}

/** Returns the response mode of a session. */
export function modeOf({ responseMode }: VerificationSession): ResponseMode {
  return responseMode ?? 'direct_post'
}

/** Returns the URL to which the response of a session is posted in a response mode. */
export function responseUriOf(
  { baseUrl }: { readonly baseUrl: string },
  sessionId: string,
  mode: ResponseMode,
): string {
  return `${baseUrl}${VERIFIER_PATHS[mode]}/${sessionId}`
}

/** Returns when the session reached, or will reach, its final state. */
export function endOfVerification({ outcome, finishedAt, expiresAt, expiredAt }: VerificationSession): number {
  // `expiredAt` is earlier than `expiresAt` if a restore ended the session, and otherwise later.
  return outcome === undefined ? Math.min(expiresAt, expiredAt ?? expiresAt) : (finishedAt ?? expiresAt)
}

/** Returns the times of a session for the application. `ended_at` is absent for some sessions of earlier releases. */
export function sessionTimes(session: VerificationSession, now: Date) {
  const { createdAt, expiresAt, finishedAt } = session
  const endedAt = verificationStatus(session, now) === 'EXPIRED' ? endOfVerification(session) : finishedAt
  return {
    created_at: epochSeconds(createdAt),
    expires_at: epochSeconds(expiresAt),
    ...(endedAt === undefined ? {} : { ended_at: epochSeconds(endedAt) }),
  }
}

/** Returns when the personal data of an ended session is erased. */
export function erasureDate(session: VerificationSession, { personalDataSeconds }: Retention): Date {
  return new Date(endOfVerification(session) + personalDataSeconds * 1000)
}

/**
 * Returns the status of a session: from its outcome, or without one from its expiry. An `access_denied` of the wallet
 * means that the person declined.
 */
export function verificationStatus(
  { outcome, expiresAt, expiredAt }: VerificationSession,
  now: Date,
): VerificationStatus {
  if (outcome === undefined) return expiredAt === undefined && now.getTime() < expiresAt ? 'STARTED' : 'EXPIRED'
  if ('report' in outcome) return outcome.report.verified ? 'VERIFICATION_SUCCEEDED' : 'VERIFICATION_FAILED'
  return outcome.walletError.error === 'access_denied' ? 'DECLINED' : 'VERIFICATION_FAILED'
}

/** Refuses with `gone` if the session has expired, and with `codeOfFinished` if it has its response already. */
export function refuseUnlessOpen(
  session: VerificationSession,
  now: Date,
  codeOfFinished: 'invalid_request' | 'gone' = 'invalid_request',
): void {
  if (session.outcome !== undefined) refuseFinished(codeOfFinished)
  if (verificationStatus(session, now) === 'EXPIRED') refuse('gone', 'this session has expired')
}

export function refuseFinished(code: 'invalid_request' | 'gone'): never {
  return refuse(code, 'this session has had its response')
}

/**
 * Ends an open session with the outcome of its response and the mode of it. Refuses like {@link refuseUnlessOpen}, so a
 * session accepts one response.
 */
export function finishSession(
  session: VerificationSession,
  { outcome, mode }: { readonly outcome: VerificationOutcome; readonly mode: ResponseMode },
  now: Date,
): VerificationSession {
  refuseUnlessOpen(session, now)
  // Removes the key, so that a recorded response cannot be decrypted later.
  return { ...session, encryptionKey: undefined, outcome, responseMode: mode, finishedAt: now.getTime() }
}

/** A session in its final state, and the time when it got there. */
interface EndedSession {
  readonly sessionId: string
  readonly session: VerificationSession
  readonly now: Date
}

/** Makes the event of a session in its final state, for the batch that stores the session. */
export function makeEndEvent(
  { random }: { readonly random: (bytes: number) => Uint8Array },
  { sessionId, session, now }: EndedSession,
): Change<EventCollections> {
  const type = EVENT_OF_STATUS[verificationStatus(session, now)]
  const order = nextEventOrder(now, session.createdAt)
  return makeEventChange({ type, at: now.getTime(), order, sessionId }, random)
}
