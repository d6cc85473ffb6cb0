/** The schemas of responses for the OpenAPI document. */
import type { TSchema } from 'typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../protocol/error.ts'
import { EVENT_STREAM_TYPE } from './event-stream.ts'
import { REFUSALS } from './openapi.ts'
import { type ResponseHeader, SENT_HEADERS } from './openapi-headers.ts'

export const JSON_TYPE = 'application/json'
export const JWT_TYPE = 'application/jwt'

/** Describes a successful JSON response. The compiler checks the handlers of the route against the schema. */
export function jsonResponse<S extends 200 | 201, T extends TSchema>(status: S, schema: T): { readonly [K in S]: T } {
  return { [status]: schema }
}

/** Describes a successful response without a body. */
export const NO_CONTENT: Record<string, object> = { 204: Type.Null() }

/** Describes a successful response with another media type. */
export function responseAs(status: 200 | 201, mediaType: string, schema: TSchema): Record<string, object> {
  return { [status]: contentByType({ [mediaType]: schema }) }
}

/** Describes a successful response with several media types. */
export function responseByType(schemas: Readonly<Record<string, TSchema>>): Record<string, object> {
  return { 200: contentByType(schemas) }
}

/** Describes an event stream of the status whose schema has the title `title`. */
export function eventStreamResponse(title: string): Record<string, object> {
  const description = `An event \`status\` with a ${title} as JSON at first and after each change; \`end\` after the last`
  return responseAs(200, EVENT_STREAM_TYPE, Type.String({ description }))
}

/** Lists the error codes of an operation; `openapi.ts` adds those that all operations of its kind have. */
export function refusalCodes(...codes: readonly ErrorCode[]): Record<string, readonly ErrorCode[]> {
  return { [REFUSALS]: codes }
}

/** Lists headers of the successful responses of an operation; `openapi-headers.ts` adds those of its kind. */
export function sentHeaders(...names: readonly ResponseHeader[]): Record<string, readonly ResponseHeader[]> {
  return { [SENT_HEADERS]: names }
}

/** A JSON object with any members. */
export const AnyObject = Type.Object({}, { additionalProperties: true })

/** Describes a body with several media types. */
export function contentByType(schemas: Readonly<Record<string, TSchema>>) {
  return { content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])) }
}

/** The operations that the integrating application calls. */
export const applicationOperation = { security: [{ apiKey: [] }], tags: ['integration'] }

/** The operations for wallets. A session id in the path is the secret by which a wallet has access. */
export const walletOperation = { security: [], tags: ['wallet'] }

export const SessionParams = Type.Object({ session_id: Type.String() })

/** A time in seconds since the epoch. */
export const Seconds = Type.Integer({ description: 'Seconds since the epoch' })

export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'A repeated request with the same key and body gets the first answer, for 24 hours' }),
  ),
})
