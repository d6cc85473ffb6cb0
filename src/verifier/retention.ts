/**
 * The end of verification sessions: records their expiry, erases the disclosed data some time after the final state,
 * and later deletes them.
 */
import type { CheckResult } from '../check/check.ts'
import { planRetention, type Retention, type SessionEnding } from '../config/retention.ts'
import { createPurgeLog } from '../event/purge-log.ts'
import type { Effects } from '../http/effects.ts'
import type { Change, DueRow } from '../store/store.ts'
import { sweep } from '../store/sweep.ts'
import type { VerifierCollections } from './collections.ts'
import type { VerifierConfig } from './config.ts'
import {
  endOfVerification,
  erasureDate,
  makeEndEvent,
  registeredError,
  type VerificationOutcome,
  type VerificationSession,
  verificationStatus,
} from './session.ts'
import { type CredentialReport, mapPresentations } from './verification.ts'

/** How long an erasure or deletion is postponed while a callback is pending. */
const CALLBACK_WAIT_MS = 60_000

/** How long events that cannot be passed on postpone an erasure or deletion: as long as a callback is tried. */
const EVENTS_WAIT_MS = 24 * 60 * 60_000

/**
 * Tests whether the callback of a session is still to be delivered; false without a receiver. Rejects if events cannot
 * be passed on.
 */
export type HasPendingCallback = (sessionId: string) => Promise<boolean>

interface SweepOptions extends Pick<Effects<never>, 'random'> {
  readonly retention: Retention
  readonly now: Date
  readonly hasPendingCallback: HasPendingCallback
}

const ENDING: SessionEnding<VerificationSession> = {
  endOf: endOfVerification,
  isExpired: (session, now) => verificationStatus(session, now) === 'EXPIRED',
  expire: (session) => ({ ...session, encryptionKey: undefined }),
  erase: sessionWithoutPersonalData,
}

/**
 * Takes the next step of each session that is due: records the expiry, erases the personal data or deletes the session.
 * Postpones erasure and deletion while a callback is pending, and for a day while events cannot be passed on.
 */
export async function sweepVerificationSessions(
  { retention }: VerifierConfig,
  { store, now, random, log }: Effects<VerifierCollections>,
  hasPendingCallback: HasPendingCallback,
): Promise<void> {
  const options = { retention, now: now(), random, hasPendingCallback }
  const planRow = (row: DueRow<VerificationSession>) => planChanges(row, options)
  const reportDeleted = createPurgeLog(log)
  await sweep(store, 'verification_session', options.now, { changesOf: planRow, reportDeleted })
}

async function planChanges(
  { id, value, version }: DueRow<VerificationSession>,
  { retention, now, random, hasPendingCallback }: SweepOptions,
): Promise<readonly Change<VerifierCollections>[]> {
  const step = planRetention(value, ENDING, retention, now)
  const erasureAt = erasureDate(value, retention).getTime()
  // The task that passes events on reports why it cannot.
  const mayWait = (): boolean => now.getTime() < erasureAt + EVENTS_WAIT_MS
  if ((step === undefined || step.erases) && (await hasPendingCallback(id).catch(mayWait))) {
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
 * Removes all personal data from a session; the outcomes of the checks remain. The origin of the redirect URI remains
 * too, so that the result still requires the response code.
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
  // Keeps only a registered error code; the rest is free text of the wallet.
  if ('walletError' in outcome) return { walletError: { error: registeredError(outcome.walletError.error) } }
  const { report, ...reference } = outcome
  const { checks, credentials, ...members } = report
  const remainingReport = {
    ...members,
    checks: checks.map(removeDetail),
    credentials: mapPresentations(credentials, reportWithoutPersonalData),
  }
  return { ...reference, report: remainingReport }
}

/** Removes the detail of a check result, which may repeat presented data. */
function removeDetail(result: CheckResult): CheckResult {
  const remainingResult: CheckResult & { detail?: string } = { ...result }
  delete remainingResult.detail
  return remainingResult
}

/**
 * Removes personal data from a report: the times, which may identify a single credential, and an `issuer` that is not
 * in the certificate, since it could name the person.
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
