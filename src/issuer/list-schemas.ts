/** The schemas of the list of issuance sessions. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { applicationOperation, jsonResponse, refusalCodes, Seconds } from '../http/openapi-responses.ts'
import { NextCursor, pageQuery } from '../http/page.ts'
import { ListedProblem } from '../progress/problem-members.ts'
import { IssuanceStatus } from './session-schema.ts'

const ListIssuanceSessions = Type.Object(
  {
    status: Type.Optional(IssuanceStatus),
    credential_configuration_id: Type.Optional(
      Type.String({ maxLength: 200, description: 'The configuration that the sessions offer' }),
    ),
    ...pageQuery,
  },
  { additionalProperties: false },
)
export type ListIssuanceSessions = Static<typeof ListIssuanceSessions>

export const IssuanceSessionPage = Type.Object(
  {
    sessions: Type.Array(
      Type.Object(
        {
          session_id: Type.String(),
          status: IssuanceStatus,
          created_at: Seconds,
          expires_at: Seconds,
          ended_at: Type.Optional(
            Type.Integer({ description: 'The time when the first credential was issued, or the session expired' }),
          ),
          credential_configurations: Type.Array(Type.String()),
          problem: Type.Optional(ListedProblem),
        },
        { title: 'ListedIssuanceSession' },
      ),
    ),
    next: NextCursor,
  },
  { title: 'IssuanceSessionPage' },
)

export const listIssuanceRoute = {
  ...applicationOperation,
  ...refusalCodes('invalid_request'),
  operationId: 'listIssuanceSessions',
  summary: 'The issuance sessions, newest first, page by page',
  querystring: ListIssuanceSessions,
  response: jsonResponse(200, IssuanceSessionPage),
}
