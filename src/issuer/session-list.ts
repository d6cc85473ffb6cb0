/** The list of issuance sessions for operators. It has the state of each session, but no claims. */
import type { Static } from 'typebox'
import { epochSeconds } from '../codec/time.ts'
import { readPage } from '../http/page.ts'
import { listedProblem } from '../progress/problem-members.ts'
import type { IssuerContext } from './context.ts'
import type { IssuanceSessionPage, ListIssuanceSessions } from './list-schemas.ts'
import { endOfSession, type IssuanceSession, issuanceStatus } from './session.ts'

type Entry = Static<typeof IssuanceSessionPage>['sessions'][number]

/** Returns a page of sessions, newest first. Refuses with `invalid_request` a wrong cursor or filter. */
export async function listIssuanceSessions(
  context: IssuerContext,
  query: ListIssuanceSessions,
): Promise<Static<typeof IssuanceSessionPage>> {
  const { status, credential_configuration_id: configurationId } = query
  const now = context.now()
  const { entries, ...pageMembers } = await readPage(context, 'issuance_session', {
    query,
    entryOf: (id, session) => entryOf(id, session, now),
    matches: (entry) =>
      (status === undefined || entry.status === status) &&
      (configurationId === undefined || entry.credential_configurations.includes(configurationId)),
  })
  return { sessions: await Promise.all(entries.map((entry) => addProblem(context, entry))), ...pageMembers }
}

function entryOf(id: string, session: IssuanceSession, now: Date): Entry {
  const status = issuanceStatus(session, now)
  const endedAt = status === 'EXPIRED' ? endOfSession(session) : session.issued[0]?.issuedAt
  return {
    session_id: id,
    status,
    created_at: epochSeconds(session.createdAt),
    expires_at: epochSeconds(endOfSession(session)),
    ...(endedAt === undefined ? {} : { ended_at: epochSeconds(endedAt) }),
    credential_configurations: [...session.configurationIds],
  }
}

/** Adds the wallet's last refusal to `entry`, if there is one. */
async function addProblem({ progress }: IssuerContext, entry: Entry): Promise<Entry> {
  const problem = listedProblem(await progress.read(entry.session_id))
  return problem === undefined ? entry : { ...entry, problem }
}
