/** The status of a verification session, with its report, for callers with an API key. */
import type { JsonObject } from '../codec/json.ts'
import { epochSeconds } from '../codec/time.ts'
import { problemMembers } from '../progress/problem-members.ts'
import type { ProgressRecorder } from '../progress/progress-recorder.ts'
import { type DescribedReport, describeReport } from './check-descriptions.ts'
import { requireVerificationSession, type VerifierContext } from './context.ts'
import { isResponseCode } from './redirect.ts'
import { modeOf, sessionTimes, type VerificationSession, verificationStatus } from './session.ts'
import { mapPresentations } from './verification.ts'
import { selectRelevantProgress } from './verification-progress.ts'

export interface StatusContext extends Pick<VerifierContext, 'store' | 'now' | 'checkDescriptions'> {
  readonly progress: Pick<ProgressRecorder, 'read'>
}

/**
 * Returns the status of a session for the application. `responseCode` is the one in the redirect, if there was a
 * redirect. Refuses with `not_found`.
 */
export async function getVerificationStatus(context: StatusContext, sessionId: string, responseCode?: string) {
  const { value } = await requireVerificationSession(context.store, sessionId)
  return makeVerificationStatus(context, sessionId, value, responseCode)
}

/**
 * Returns the status of a session for its callback, without a response code: a result for the person at the browser is
 * left out. Returns undefined if there is no such session.
 */
export async function findStatusForCallback(
  context: StatusContext,
  sessionId: string,
): Promise<JsonObject | undefined> {
  const row = await context.store.get('verification_session', sessionId)
  if (row === undefined) return undefined
  return (await makeVerificationStatus(context, sessionId, row.value)) as unknown as JsonObject
}

async function makeVerificationStatus(
  context: StatusContext,
  sessionId: string,
  session: VerificationSession,
  responseCode?: string,
) {
  const now = context.now()
  const { outcome } = session
  return {
    session_id: sessionId,
    status: verificationStatus(session, now),
    verification_query_id: session.queryId,
    ...sessionTimes(session, now),
    ...(await readProgress(context, sessionId, session)),
    ...(session.erasedAt === undefined ? {} : { erased_at: epochSeconds(session.erasedAt) }),
    ...(outcome === undefined ? {} : { response_mode: modeOf(session) }),
    ...(await readResult(context, session, responseCode)),
    ...(outcome && 'walletError' in outcome ? { wallet_error: outcome.walletError } : {}),
  }
}

/** Returns the members of the wallet's progress. The progress of an answered session is not read if it has all. */
async function readProgress({ progress }: StatusContext, sessionId: string, session: VerificationSession) {
  const hasAll = session.outcome !== undefined && session.requestFetchedAt !== undefined
  const shownProgress = selectRelevantProgress(session, hasAll ? {} : await progress.read(sessionId))
  const requestFetchedAt = session.requestFetchedAt ?? shownProgress.requestFetchedAt
  return {
    ...(requestFetchedAt === undefined ? {} : { request_fetched_at: epochSeconds(requestFetchedAt) }),
    ...problemMembers(shownProgress),
  }
}

/**
 * Returns the result of a session. If the session has a redirect, the result requires its response code, which proves
 * that the wallet is on the device of the browser. A failed presentation has no response code; its report has no data
 * of the credentials.
 */
async function readResult(
  { checkDescriptions }: StatusContext,
  { outcome, redirectUri, responseCodeDigest }: VerificationSession,
  responseCode?: string,
): Promise<{ readonly result?: DescribedReport }> {
  if (outcome === undefined || !('report' in outcome)) return {}
  const { report, checkDescriptions: id } = outcome
  const result =
    id === undefined ? (report as DescribedReport) : describeReport(report, await checkDescriptions.load(id))
  if (redirectUri === undefined) return { result }
  if (responseCodeDigest === undefined) return { result: reportWithoutCredentials(result) }
  return responseCode !== undefined && isResponseCode(responseCode, responseCodeDigest) ? { result } : {}
}

function reportWithoutCredentials({ credentials, ...report }: DescribedReport): DescribedReport {
  return { ...report, credentials: mapPresentations(credentials, ({ format, checks }) => ({ format, checks })) }
}
