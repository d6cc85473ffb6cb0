/**
 * Makes the OpenAPI 3.1 document of `GET /openapi` from the routes, for code generators. Schemas with a title become
 * components, and refusals are listed by status and code.
 */
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { type ErrorCode, HTTP_STATUS, PROTECTED_RESOURCE_ERRORS } from '../protocol/error.ts'
import { headersMember, NOT_MODIFIED, type ResponseHeader, SENT_HEADERS } from './openapi-headers.ts'

/** The member with the error codes of an operation. */
export const REFUSALS = 'x-refusals'
/** The member with the schema to show in place of one that is validated in code. */
const DESCRIBED_SCHEMA = 'x-described'

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
  303: 'The browser goes to the address in Location',
  304: NOT_MODIFIED,
}

const ERROR = {
  title: 'Error',
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: { type: 'string', description: 'A code of the specification, or one of the administrative ones' },
    error_description: { type: 'string', description: 'A sentence about the mistake, and about what to do' },
  },
}

/** Completes the document that was collected from the routes, and adds the webhooks. */
export function openApiDocument(routesDocument: JsonObject, callbacks: JsonObject): JsonObject {
  const schemas: JsonObject = {}
  const paths = mapMembers(memberOf(routesDocument, 'paths'), (operations) =>
    mapMembers(operations, (operation, method) => hoistSchemas(withRefusals(operation as JsonObject, method), schemas)),
  )
  const webhooks = hoistSchemas(callbacks, schemas)
  const { securitySchemes, ...components } = memberOf(routesDocument, 'components') as JsonObject
  const operations = Object.values(paths).flatMap((path) => Object.values(path as JsonObject) as JsonObject[])
  const usedSchemes = Object.entries(securitySchemes ?? {}).filter(([name]) =>
    operations.some((operation) => namesScheme(operation, name)),
  )
  const sortedSchemas = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
  return {
    ...routesDocument,
    tags: TAGS,
    paths,
    webhooks,
    components: { ...components, securitySchemes: Object.fromEntries(usedSchemes), schemas: sortedSchemas },
  }
}

function mapMembers(object: Json | undefined, change: (value: Json, name: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).map(([name, value]) => [name, change(value as Json, name)]))
}

function withRefusals(operation: JsonObject, method: string): JsonObject {
  const { [REFUSALS]: declared, [SENT_HEADERS]: sent, ...rest } = operation
  const codes = [...stringsIn(declared), ...usualCodes(operation, method)] as ErrorCode[]
  const common = { operationCodes: codes, sentHeaders: stringsIn(sent) as ResponseHeader[] }
  const isProtected = namesScheme(operation, 'accessToken')
  const byStatus = new Map<number, string[]>()
  for (const code of new Set(codes)) {
    // RFC 9449 section 7.1: the status at a protected resource differs from that at the token endpoint.
    const status = isProtected && /dpop/.test(code) ? 401 : HTTP_STATUS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const refusals = [...byStatus].map(([status, names]) => {
    const headers = headersMember({ ...common, status })
    return [String(status), { ...refusal(names), ...headers }] as const
  })
  const responses = { ...(rest.responses as JsonObject), ...(common.sentHeaders.includes('ETag') && { 304: {} }) }
  const answers = mapMembers(responses, (response, status) => {
    const headers = headersMember({ ...common, status: Number(status) })
    return { ...(response as JsonObject), description: DESCRIPTIONS[status] ?? 'The answer', ...headers }
  })
  return { ...rest, responses: { ...answers, ...Object.fromEntries(refusals) } }
}

function refusal(codes: readonly string[]): JsonObject {
  const schema = { allOf: [ERROR, { type: 'object', properties: { error: { type: 'string', enum: [...codes] } } }] }
  return { description: codes.join(', '), content: { 'application/json': { schema } } }
}

/** Returns the error codes that depend only on who calls the operation and on its method. */
function usualCodes(operation: JsonObject, method: string): readonly ErrorCode[] {
  const tags = stringsIn(operation.tags)
  const hasBody = memberOf(operation, 'requestBody') !== undefined
  const isKeyed = namesScheme(operation, 'apiKey')
  const isProtected = namesScheme(operation, 'accessToken')
  return [
    ...(isKeyed ? (['unauthorized'] as const) : []),
    ...(isProtected ? PROTECTED_RESOURCE_ERRORS : []),
    ...(hasBody && !isProtected ? (['invalid_request'] as const) : []),
    // An unused body is also limited.
    ...(method === 'post' ? (['request_too_large'] as const) : []),
    // The memory for bodies may be full, or there are too many conflicts.
    ...(method === 'post' && !tags.includes('operation') ? (['temporarily_unavailable'] as const) : []),
    ...(hasBody && isKeyed ? (['unsupported_media_type'] as const) : []),
    ...(tags.includes('operation') ? [] : (['too_many_requests', 'server_error'] as const)),
  ]
}

function namesScheme(operation: JsonObject, name: string): boolean {
  const { security } = operation
  return Array.isArray(security) && security.some((scheme) => isObject(scheme) && Object.hasOwn(scheme, name))
}

/** Replaces each schema with a title by a reference, and adds it to `schemas`. */
function hoistSchemas(value: Json, schemas: JsonObject): Json {
  if (Array.isArray(value)) return value.map((each) => hoistSchemas(each, schemas))
  if (!isObject(value)) return value
  const described = memberOf(value, DESCRIBED_SCHEMA)
  if (described !== undefined) return hoistSchemas(described, schemas)
  const inside = Object.fromEntries(
    Object.entries(joinTexts(value)).map(([name, member]) => [
      name,
      name === 'examples' ? member : hoistSchemas(member, schemas),
    ]),
  )
  const { title, ...schema } = inside
  const name = stringMemberOf(value, 'title')
  // An object may have a member named `title`, which is not a text.
  if (title === undefined || name === undefined || !isSchema(value)) return inside
  schemas[name] = schema
  return { $ref: `#/components/schemas/${name}` }
}

/** Returns a choice between single texts as one enum, of which generators make one type in every language. */
function joinTexts(value: JsonObject): JsonObject {
  const { anyOf, ...rest } = value
  if (!Array.isArray(anyOf) || !anyOf.every(isText)) return value
  return { ...rest, type: 'string', enum: anyOf.flatMap((choice) => memberOf(choice, 'enum') ?? []) }
}

/** Tests whether a schema is a list of texts and nothing else, without a description of its own. */
function isText(schema: Json): boolean {
  return isObject(schema) && Object.keys(schema).sort().join() === 'enum,type' && schema.type === 'string'
}

function isSchema(value: JsonObject): boolean {
  return ['type', 'anyOf', 'allOf'].some((keyword) => Object.hasOwn(value, keyword))
}
