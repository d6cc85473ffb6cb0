/** The schemas of the list of verification sessions. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { applicationOperation, jsonResponse, refusalCodes } from '../http/openapi-responses.ts'
import { NextCursor, pageQuery } from '../http/page.ts'
import { ListedProblem } from '../progress/problem-members.ts'
import { sessionMembers, VerificationStatus } from './report-schemas.ts'

const ListVerificationSessions = Type.Object(
  {
    status: Type.Optional(VerificationStatus),
    verification_query_id: Type.Optional(Type.String({ maxLength: 200, description: 'The query of the sessions' })),
    ...pageQuery,
  },
  { additionalProperties: false },
)
export type ListVerificationSessions = Static<typeof ListVerificationSessions>

export const VerificationSessionPage = Type.Object(
  {
    sessions: Type.Array(
      Type.Object(
        {
          ...sessionMembers,
          failed_checks: Type.Optional(
            Type.Array(Type.String(), { description: 'The ids of the checks that failed; docs/checks.md' }),
          ),
          wallet_error: Type.Optional(Type.Object({ error: Type.String() })),
          problem: Type.Optional(ListedProblem),
        },
        { title: 'ListedVerificationSession' },
      ),
    ),
    next: NextCursor,
  },
  { title: 'VerificationSessionPage' },
)

export const listVerificationRoute = {
  ...applicationOperation,
  ...refusalCodes('invalid_request'),
  operationId: 'listVerificationSessions',
  summary: 'The verification sessions, newest first, page by page',
  querystring: ListVerificationSessions,
  response: jsonResponse(200, VerificationSessionPage),
}
