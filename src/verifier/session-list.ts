/** The list of verification sessions for operators. It has the state of each session, but no presented data. */
import type { Static } from 'typebox'
import { readPage } from '../http/page.ts'
import { listedProblem } from '../progress/problem-members.ts'
import type { VerifierContext } from './context.ts'
import type { ListVerificationSessions, VerificationSessionPage } from './list-schemas.ts'
import { registeredError, sessionTimes, type VerificationSession, verificationStatus } from './session.ts'
import { failedChecks } from './verification.ts'

type Entry = Static<typeof VerificationSessionPage>['sessions'][number]

/** Returns a page of sessions, newest first. Refuses with `invalid_request` a wrong cursor or filter. */
export async function listVerificationSessions(
  context: VerifierContext,
  query: ListVerificationSessions,
): Promise<Static<typeof VerificationSessionPage>> {
  const { status, verification_query_id: queryId } = query
  const now = context.now()
  const { entries, ...pageMembers } = await readPage(context, 'verification_session', {
    query,
    entryOf: (id, session) => entryOf(id, session, now),
    matches: (entry) =>
      (status === undefined || entry.status === status) &&
      (queryId === undefined || entry.verification_query_id === queryId),
  })
  const sessions = await Promise.all(entries.map((entry) => addProblem(context, entry)))
  return { sessions, ...pageMembers }
}

/** Adds the wallet's last refusal to the entry of a session without a response, if there is one. */
async function addProblem({ progress }: VerifierContext, entry: Entry): Promise<Entry> {
  if (entry.status !== 'STARTED' && entry.status !== 'EXPIRED') return entry
  const problem = listedProblem(await progress.read(entry.session_id))
  return problem === undefined ? entry : { ...entry, problem }
}

function entryOf(id: string, session: VerificationSession, now: Date): Entry {
  return {
    session_id: id,
    status: verificationStatus(session, now),
    verification_query_id: session.queryId,
    ...sessionTimes(session, now),
    ...failureMembers(session),
  }
}

/**
 * Returns the ids of failed checks or the wallet's error code. Leaves out details and descriptions, which may repeat
 * presented data.
 */
function failureMembers({ outcome }: VerificationSession): Pick<Entry, 'failed_checks' | 'wallet_error'> {
  if (outcome === undefined) return {}
  if ('walletError' in outcome) return { wallet_error: { error: registeredError(outcome.walletError.error) } }
  const failedIds = [...new Set(failedChecks(outcome.report))]
  return failedIds.length === 0 ? {} : { failed_checks: failedIds }
}
