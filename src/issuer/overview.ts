/** The overview of the issuance service for operators: its health, and the state of its latest sessions. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { countCallbacks } from '../callback/counts.ts'
import { epochSeconds } from '../codec/time.ts'
import { listCertificateEnds } from '../config/certificate-end.ts'
import { applicationOperation, jsonResponse, Seconds } from '../http/openapi-responses.ts'
import { countSessions, overviewMembers, type SessionOutcome } from '../operator/overview.ts'
import { problemWords } from '../progress/problem-members.ts'
import type { IssuerContext } from './context.ts'
import { type IssuanceSession, issuanceStatus } from './session.ts'

const IssuerOverview = Type.Object(
  {
    ...overviewMembers,
    last_success: Type.Object(
      { credential_issued_at: Type.Optional(Seconds) },
      {
        description: 'Among the sessions that were counted',
      },
    ),
    status_lists: Type.Object({
      ttl_seconds: Type.Integer({ description: 'How long verifiers may keep a list: a revocation is seen after that' }),
      current: Type.Array(
        Type.Object({
          list_id: Type.String(),
          entries: Type.Integer(),
          given_out: Type.Integer({ description: 'Entries that processes have taken for credentials' }),
        }),
        { description: 'The lists that new credentials get their entries in; a full one is followed by another' },
      ),
    }),
  },
  { title: 'IssuerOverview' },
)
type IssuerOverview = Static<typeof IssuerOverview>

export const issuerOverviewRoute = {
  ...applicationOperation,
  operationId: 'getOverview',
  summary: 'Whether the service is well, and its sessions of the last 24 hours in numbers',
  response: jsonResponse(200, IssuerOverview),
}

/** Returns the overview. `isReady` says whether the database accepts writes. */
export async function readIssuerOverview(context: IssuerContext, isReady: boolean): Promise<IssuerOverview> {
  const { store, config, now } = context
  const { sessions, lastSuccessAt } = await countSessions(context, 'issuance_session', (id, session) =>
    readOutcome(context, id, session),
  )
  const spaces = await store.list('status_space')
  return {
    at: epochSeconds(now()),
    ready: isReady,
    certificates: listCertificateEnds(config.keys),
    callbacks: { configured: config.sessionCallback !== undefined, ...(await countCallbacks(store)) },
    sessions,
    last_success: lastSuccessAt === undefined ? {} : { credential_issued_at: lastSuccessAt },
    status_lists: {
      ttl_seconds: config.statusList.ttlSeconds,
      current: spaces.map(({ value: { listId, entries, next } }) => ({ list_id: listId, entries, given_out: next })),
    },
  }
}

async function readOutcome(
  { progress, now }: IssuerContext,
  id: string,
  session: IssuanceSession,
): Promise<SessionOutcome> {
  const status = issuanceStatus(session, now())
  // A problem is not shown after the session has succeeded.
  const problems = status === 'SUCCEEDED' ? [] : problemWords(await progress.read(id))
  return {
    status,
    problems,
    succeededAt: session.issued.at(-1)?.issuedAt,
  }
}
