/**
 * `GET /openapi`: what the routes say of themselves as a document that generators can use. Schemas with a title become components,
 * and every refusal is there by its status and its codes. OpenAPI 3.1.
 */
import { isObject, type Json, type JsonObject, own, ownString, stringsIn } from '../codec/json.ts'
import { type ErrorCode, HTTP_STATUS } from '../protocol/error.ts'

/** The codes an operation refuses with, beside those that its kind always has. */
export const REFUSALS = 'x-refusals'
/** The schema that the document shows in the place of one that leaves the details to code. */
const DESCRIBED = 'x-described'

const TAGS = [
  { name: 'integration', description: 'Called by the integrating application, with an API key' },
  { name: 'wallet', description: 'Called by wallets, by the rules of OpenID4VCI and OpenID4VP' },
  { name: 'operation', description: 'About the service itself' },
]

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  200: 'The answer',
  201: 'The id of what was stored',
  202: 'Not yet: ask again with the transaction_id',
  204: 'Done',
}

const ERROR = {
  title: 'Error',
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: { type: 'string', description: 'A code of the specification, or one of the administrative ones' },
    error_description: { type: 'string', description: 'What is wrong and what to do' },
  },
}

/** `collected` is the document as it was made of the routes. */
export function openApiDocument(collected: JsonObject): JsonObject {
  const schemas: JsonObject = {}
  const paths = mapped(own(collected, 'paths'), (operations) =>
    mapped(operations, (operation, method) => hoisted(withRefusals(operation as JsonObject, method), schemas)),
  )
  const components = own(collected, 'components') as JsonObject
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...collected, tags: TAGS, paths, components: { ...components, schemas: sorted } }
}

function mapped(object: Json | undefined, change: (value: Json, name: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).map(([name, value]) => [name, change(value as Json, name)]))
}

function withRefusals(operation: JsonObject, method: string): JsonObject {
  const { [REFUSALS]: declared, ...rest } = operation
  const codes = [...stringsIn(declared), ...usualCodes(operation, method)] as ErrorCode[]
  const isProtected = namesScheme(operation, 'accessToken')
  const byStatus = new Map<number, string[]>()
  for (const code of new Set(codes)) {
    // RFC 9449 section 7.1: at a protected resource, unlike at the token endpoint.
    const status = isProtected && /dpop/.test(code) ? 401 : HTTP_STATUS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const refusals = [...byStatus].map(([status, names]) => [String(status), refusal(names)] as const)
  const answers = mapped(rest.responses, (response, status) => {
    return { ...(response as JsonObject), description: DESCRIPTIONS[status] ?? 'The answer' }
  })
  return { ...rest, responses: { ...answers, ...Object.fromEntries(refusals) } }
}

function refusal(codes: readonly string[]): JsonObject {
  const schema = { allOf: [ERROR, { type: 'object', properties: { error: { type: 'string', enum: [...codes] } } }] }
  return { description: codes.join(', '), content: { 'application/json': { schema } } }
}

/** The codes that an operation refuses with because of who calls it and whether it takes a body. */
function usualCodes(operation: JsonObject, method: string): readonly ErrorCode[] {
  const tags = stringsIn(operation.tags)
  const hasBody = own(operation, 'requestBody') !== undefined
  const isKeyed = namesScheme(operation, 'apiKey')
  const isProtected = namesScheme(operation, 'accessToken')
  return [
    ...(isKeyed ? (['unauthorized'] as const) : []),
    ...(isProtected ? (['invalid_token', 'invalid_dpop_proof', 'use_dpop_nonce', 'insufficient_scope'] as const) : []),
    ...(hasBody && !isProtected ? (['invalid_request'] as const) : []),
    // A body that is not asked for is read within the limit too.
    ...(method === 'post' ? (['request_too_large'] as const) : []),
    // There may be no memory for its body, or too many others that change the same.
    ...(method === 'post' && !tags.includes('operation') ? (['temporarily_unavailable'] as const) : []),
    ...(hasBody && isKeyed ? (['unsupported_media_type'] as const) : []),
    ...(tags.includes('operation') ? [] : (['too_many_requests', 'server_error'] as const)),
  ]
}

function namesScheme(operation: JsonObject, name: string): boolean {
  const { security } = operation
  return Array.isArray(security) && security.some((scheme) => isObject(scheme) && Object.hasOwn(scheme, name))
}

/** The value with a reference in the place of each schema that has a title; those go into `schemas`, by their titles. */
function hoisted(value: Json, schemas: JsonObject): Json {
  if (Array.isArray(value)) return value.map((each) => hoisted(each, schemas))
  if (!isObject(value)) return value
  const described = own(value, DESCRIBED)
  if (described !== undefined) return hoisted(described, schemas)
  const inside = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === 'examples' ? member : hoisted(member, schemas)]),
  )
  const { title, ...schema } = inside
  const name = ownString(value, 'title')
  // A member of an object may be called title as well, and then it is no text.
  if (title === undefined || name === undefined || !isSchema(value)) return inside
  schemas[name] = schema
  return { $ref: `#/components/schemas/${name}` }
}

function isSchema(value: JsonObject): boolean {
  return ['type', 'anyOf', 'allOf'].some((keyword) => Object.hasOwn(value, keyword))
}
