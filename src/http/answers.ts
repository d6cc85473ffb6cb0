/** How routes describe their answers in the OpenAPI document. */
import type { TSchema } from 'typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../protocol/error.ts'
import { REFUSALS } from './openapi.ts'

export const JSON_TYPE = 'application/json'
export const JWT_TYPE = 'application/jwt'

/** The answer when all is well, in JSON unless another media type is named. */
export function answers(status: 200 | 201 | 204, schema?: TSchema, mediaType?: string): Record<string, object> {
  const content = schema ?? Type.Null()
  return { [status]: mediaType === undefined ? content : byType({ [mediaType]: content }) }
}

/** The same for an answer that comes in several media types. */
export function answersByType(schemas: Readonly<Record<string, TSchema>>): Record<string, object> {
  return { 200: byType(schemas) }
}

/** The codes that an operation is refused with, beside those of every operation of its kind, which `openapi.ts` knows. */
export function refuses(...codes: readonly ErrorCode[]): Record<string, readonly ErrorCode[]> {
  return { [REFUSALS]: codes }
}

/** A JSON object with whatever members. */
export const AnyObject = Type.Object({}, { additionalProperties: true })

/** What a body is in each media type that it may have. */
export function byType(schemas: Readonly<Record<string, TSchema>>) {
  return { content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])) }
}

/** Called by the integrating application. */
export const byApplication = { security: [{ apiKey: [] }], tags: ['integration'] }

/** Called by the wallet; the session id in the path, where there is one, is its secret. */
export const byWallet = { security: [], tags: ['wallet'] }

export const SessionParams = Type.Object({ session_id: Type.String() })

/** Seconds since the epoch. */
export const Seconds = Type.Integer({ description: 'Seconds since the epoch' })

export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'A repeated request with the same key and body gets the first answer, for 24 hours' }),
  ),
})
