/** Describes the callbacks of a service in its OpenAPI document, as webhooks, for code generators. */
import type { JsonObject } from '../codec/json.ts'

const HEADERS = [
  ['webhook-id', 'The id of the event, the same in every delivery'],
  ['webhook-timestamp', 'The time of this delivery, in seconds since the epoch'],
  ['webhook-signature', 'The signature by sessionCallback.secret, by Standard Webhooks; absent without a secret'],
] as const

/** Returns the webhooks by the type of their event; `data` has the schemas of a session, of which one holds. */
export function describeWebhooks(types: readonly string[], data: readonly JsonObject[]): JsonObject {
  const parameters = HEADERS.map(([name, description]) => {
    return { name, in: 'header', description, required: false, schema: { type: 'string' } }
  })
  const requestBody = { required: true, content: { 'application/json': { schema: eventSchema(data) } } }
  const responses = { 204: { description: 'The event is taken. Another status than 200 to 299: it comes again' } }
  return Object.fromEntries(
    types.map((type) => [type, { post: { summary: `The event ${type}`, parameters, requestBody, responses } }]),
  )
}

function eventSchema(data: readonly JsonObject[]): JsonObject {
  return {
    title: 'CallbackEvent',
    type: 'object',
    required: ['id', 'type', 'timestamp', 'data'],
    properties: {
      id: { type: 'string', description: 'The same when the event comes twice' },
      type: { type: 'string', description: 'The name of a webhook; more may be added' },
      timestamp: { type: 'string', description: 'The time in RFC 3339' },
      data: data.length === 1 ? (data[0] ?? {}) : { anyOf: [...data] },
    },
  }
}
