/** The schemas of the routes for operators. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { applicationOperation, jsonResponse, refusalCodes, Seconds } from '../http/openapi-responses.ts'
import { NextCursor, pageQuery } from '../http/page.ts'

export const PageQuery = Type.Object(pageQuery, { additionalProperties: false })
export type PageQuery = Static<typeof PageQuery>

const CallbackMembers = {
  callback_id: Type.String({ description: 'The id of the event, which the receiver gets as webhook-id' }),
  session_id: Type.String(),
  type: Type.String({ description: 'The type of the event; docs/callbacks.md' }),
  occurred_at: Seconds,
}

export const WaitingCallbackPage = Type.Object(
  {
    callbacks: Type.Array(
      Type.Object(
        {
          ...CallbackMembers,
          failures: Type.Integer({ description: 'How many deliveries of this event have failed' }),
          problem: Type.Optional(Type.String({ description: 'Why the last delivery failed' })),
          next_attempt_at: Type.Optional(
            Type.Integer({ description: 'The time of the next delivery; absent while one is under way' }),
          ),
          behind: Type.Integer({ description: 'How many events of the same session wait for this one' }),
        },
        { title: 'WaitingCallback' },
      ),
    ),
    next: NextCursor,
  },
  { title: 'WaitingCallbackPage' },
)

export const DeadCallbackPage = Type.Object(
  {
    callbacks: Type.Array(
      Type.Object(
        {
          ...CallbackMembers,
          problem: Type.String({ description: 'Why the last delivery failed' }),
          died_at: Type.Integer({ description: 'The time when the event was given up' }),
          deleted_at: Type.Integer({ description: 'The time when the event is deleted' }),
        },
        { title: 'DeadCallback' },
      ),
    ),
    next: NextCursor,
  },
  { title: 'DeadCallbackPage' },
)

const CallbackParams = Type.Object({ callback_id: Type.String() })

export const Redelivery = Type.Object(
  {
    died_until: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 10_000_000_000,
        description: 'Only events that were given up by then, in seconds since the epoch; all when absent',
      }),
    ),
  },
  { title: 'Redelivery', additionalProperties: false },
)

export const RedeliveryResult = Type.Object(
  {
    redelivered: Type.Integer({ description: 'How many events were queued again' }),
    has_more: Type.Boolean({ description: 'Whether there are more: send the request again, with this died_until' }),
    died_until: Seconds,
  },
  { title: 'RedeliveryResult' },
)

export const AuditRecordPage = Type.Object(
  {
    records: Type.Array(
      Type.Object(
        {
          sequence: Type.Integer(),
          at: Type.String({ description: 'ISO 8601' }),
          type: Type.String(),
          outcome: Type.Optional(
            Type.Union([Type.Literal('succeeded'), Type.Literal('failed')], {
              description: 'How a verification without a session ended (presentation.verified)',
            }),
          ),
          caller: Type.Optional(Type.String({ description: 'The label of the API key of the caller' })),
          subject: Type.Optional(Type.String({ description: 'The id of what the record is about' })),
          session: Type.Optional(Type.String({ description: 'The SHA-256 of the session id, base64url' })),
          hash: Type.String({ description: 'The hash of this record and of that of the record before' }),
        },
        { title: 'AuditRecord' },
      ),
    ),
    damaged_blocks: Type.Optional(
      Type.Array(Type.Integer(), {
        description: 'Blocks of the log among these records that cannot be read: look for a backup that has them',
      }),
    ),
    next: NextCursor,
    head: Type.Optional(
      Type.Object(
        { log: Type.String(), sequence: Type.Integer(), hash: Type.String() },
        { title: 'AuditHead', description: 'Where the log stands; in the first page' },
      ),
    ),
    checkpoint: Type.Optional(
      Type.Object(
        {
          signature: Type.String({ description: 'The checkpoint, a compact JWS: keep a copy elsewhere' }),
          sequence: Type.Optional(Type.Integer({ description: 'The last record that it signs' })),
          at: Type.Optional(Type.String({ description: 'ISO 8601' })),
          problem: Type.Optional(Type.String({ description: 'Why the signature cannot be verified' })),
        },
        { title: 'AuditCheckpoint', description: 'The last signature of the service over its log; in the first page' },
      ),
    ),
  },
  { title: 'AuditRecordPage' },
)

export const VerifyAudit = Type.Object(
  {
    from: Type.Optional(
      Type.Union([Type.Literal('checkpoint'), Type.Literal('start')], {
        description:
          'What to verify: the block of the last checkpoint and all after it (when absent), or the whole log',
      }),
    ),
    cursor: pageQuery.cursor,
  },
  { additionalProperties: false },
)
export type VerifyAudit = Static<typeof VerifyAudit>

export const AuditVerification = Type.Object(
  {
    intact: Type.Boolean({ description: 'Whether nothing is wrong in this stretch, and something was verified' }),
    problems: Type.Array(Type.String()),
    after: Type.Integer({ description: 'The record that the stretch continues from' }),
    up_to: Type.Integer({ description: 'The last record of the stretch' }),
    head: Type.Integer({ description: 'The last record of the log' }),
    vouched_for: Type.Integer({ description: 'The last record that a signature in the stretch covers; 0 without one' }),
    checkpoints: Type.Integer({ description: 'How many signatures are in the stretch' }),
    next: NextCursor,
  },
  { title: 'AuditVerification' },
)

const pageRoute = { ...applicationOperation, ...refusalCodes('invalid_request'), querystring: PageQuery }

export const waitingCallbacksRoute = {
  ...pageRoute,
  operationId: 'listWaitingCallbacks',
  summary: 'The sessions whose events wait for delivery, each with its first event, newest first, page by page',
  response: jsonResponse(200, WaitingCallbackPage),
}

export const deadCallbacksRoute = {
  ...pageRoute,
  operationId: 'listDeadCallbacks',
  summary: 'The events that were given up, newest first, page by page',
  response: jsonResponse(200, DeadCallbackPage),
}

export const redeliverCallbackRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'redeliverCallback',
  summary: 'Delivers an event again that was given up',
  params: CallbackParams,
  response: jsonResponse(200, CallbackParams),
}

export const redeliverCallbacksRoute = {
  ...applicationOperation,
  operationId: 'redeliverDeadCallbacks',
  summary: 'Delivers events again that were given up, a hundred at most',
  body: Redelivery,
  response: jsonResponse(200, RedeliveryResult),
}

export const auditRecordsRoute = {
  ...pageRoute,
  operationId: 'listAuditRecords',
  summary: 'The records of the audit log, newest first, page by page; leaves a record of its own',
  response: jsonResponse(200, AuditRecordPage),
}

export const auditVerificationRoute = {
  ...applicationOperation,
  ...refusalCodes('invalid_request'),
  operationId: 'verifyAuditLog',
  summary: 'Whether the audit log in the database is intact, stretch by stretch',
  querystring: VerifyAudit,
  response: jsonResponse(200, AuditVerification),
}
