/**
 * The end of a verification session: its expiry is recorded, what was disclosed is erased a while after the final
 * state, and later the session is deleted.
 */

import type { CheckResult } from '../check/check.ts'
import { planRetention, type Retention } from '../config/retention.ts'
import type { Change, DueRow } from '../store/store.ts'
import { sweep } from '../store/sweep.ts'
import type { VerifierCollections } from './collections.ts'
import type { VerifierConfig } from './config.ts'
import {
  endOfVerification,
  makeEndEvent,
  registeredError,
  type VerificationOutcome,
  type VerificationSession,
  verificationStatus,
} from './session.ts'
import type { CredentialReport } from './verification.ts'
import type { VerifierEffects } from './verifier.ts'

/** The time for which a callback is waited for before the next look. */
const CALLBACK_WAIT_MS = 60_000

/** Tests whether the application is still to be told of a session. */
export type HasPendingCallback = (sessionId: string) => Promise<boolean>

interface SweepOptions extends Pick<VerifierEffects, 'random'> {
  readonly retention: Retention
  readonly now: Date
  readonly hasPendingCallback: HasPendingCallback
}

/** The next state of a session that is due. */
interface Step {
  readonly session: VerificationSession
  /** When something is to be done next. */
  readonly dueAt: Date
  readonly expires: boolean
  readonly erases: boolean
}

/**
 * Records the expiry of each session that is due, erases its personal data, or deletes it. Nothing is erased or deleted
 * while a callback is pending.
 */
export function sweepVerificationSessions(
  { retention }: VerifierConfig,
  { store, now, random }: VerifierEffects,
  hasPendingCallback: HasPendingCallback,
): Promise<void> {
  const options = { retention, now: now(), random, hasPendingCallback }
  return sweep(store, 'verification_session', options.now, (row) => planChanges(row, options))
}

/** Returns the session as it is after `now`, or undefined when the session is to be deleted. Pure. */
function nextStepOf(session: VerificationSession, retention: Retention, now: Date): Step | undefined {
  const { erases, purges, next } = planRetention(retention, endOfVerification(session), session.erasedAt, now)
  if (purges) return undefined
  const at = now.getTime()
  const expires = verificationStatus(session, now) === 'EXPIRED' && session.expiredAt === undefined
  const sessionAfterExpiry = expires ? { ...session, encryptionKey: undefined, expiredAt: at } : session
  return {
    session: erases ? { ...sessionWithoutPersonalData(sessionAfterExpiry), erasedAt: at } : sessionAfterExpiry,
    dueAt: next,
    expires,
    erases,
  }
}

async function planChanges(
  { id, value, version }: DueRow<VerificationSession>,
  { retention, now, random, hasPendingCallback }: SweepOptions,
): Promise<readonly Change<VerifierCollections>[]> {
  const step = nextStepOf(value, retention, now)
  if ((step === undefined || step.erases) && (await hasPendingCallback(id))) {
    const dueAt = new Date(now.getTime() + CALLBACK_WAIT_MS)
    return [{ update: 'verification_session', id, version, value, dueAt }]
  }
  if (step === undefined) return [{ delete: 'verification_session', id, version, erases: true }]
  return [
    { update: 'verification_session', id, version, value: step.session, dueAt: step.dueAt, erases: true },
    ...(step.expires ? [makeEndEvent({ random }, { sessionId: id, session: step.session, now })] : []),
  ]
}

/**
 * Returns the session with the outcome of its checks, and nothing of the person. The origin of the redirect stays, so
 * that a result which needed a response code needs the code still.
 */
function sessionWithoutPersonalData(session: VerificationSession): VerificationSession {
  const { redirectUri, outcome } = session
  return {
    ...session,
    transactionData: undefined,
    ...(redirectUri === undefined ? {} : { redirectUri: new URL(redirectUri).origin }),
    ...(outcome === undefined ? {} : { outcome: outcomeWithoutPersonalData(outcome) }),
  }
}

function outcomeWithoutPersonalData(outcome: VerificationOutcome): VerificationOutcome {
  // The rest of what a wallet says is free text; sessions of earlier releases may have some in the code too.
  if ('walletError' in outcome) return { walletError: { error: registeredError(outcome.walletError.error) } }
  const { checks, credentials, ...report } = outcome.report
  const remainingReports = Object.entries(credentials).map(
    ([id, reports]) => [id, reports.map(reportWithoutPersonalData)] as const,
  )
  return { report: { ...report, checks: checks.map(removeDetail), credentials: Object.fromEntries(remainingReports) } }
}

/**
 * Removes the detail of a check result, which may repeat dates, names of claims and other texts of what was presented.
 */
function removeDetail({ id, asks, spec, level, outcome }: CheckResult): CheckResult {
  return { id, asks, spec, level, outcome }
}

/**
 * Returns the report without the times of the credential, which are often its own alone and would find it again, and
 * without an `issuer` that is the word of the credential alone: the person can be named in it.
 */
function reportWithoutPersonalData({
  format,
  issuer_certificate,
  issuer,
  type,
  checks,
}: CredentialReport): CredentialReport {
  const isInCertificate = checks.some(({ id, outcome }) => id === 'issuer.identifier' && outcome === 'passed')
  return {
    format,
    ...(issuer_certificate && { issuer_certificate }),
    ...(issuer === undefined || !isInCertificate ? {} : { issuer }),
    ...(type === undefined ? {} : { type }),
    checks: checks.map(removeDetail),
  }
}
