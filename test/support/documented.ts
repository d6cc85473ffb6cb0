/**
 * Every refusal that a test meets stands in the OpenAPI document, by its operation, its status and its code; and so do
 * the headers of every response.
 */
import type { App } from '../../src/http/app-type.ts'

interface SentResponse {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

type Responses = Record<string, { readonly description: string; readonly headers?: object }>
interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Responses }>>
}

/** The headers that callers act on. */
const TOLD_HEADERS = [
  'dpop-nonce',
  'etag',
  'location',
  'oauth-client-attestation-challenge',
  'retry-after',
  'www-authenticate',
]

const documents = new WeakMap<App, Promise<Document>>()
/** The documents by the routes of their services, since a document takes longer to make than many requests. */
const documentsByRoutes = new Map<string, Promise<Document>>()

/** Throws where the document of `app` has the operation, and not this answer. */
export async function wantDocumented(app: App, response: SentResponse): Promise<void> {
  const { method, path, status, headers, body } = response
  const code = status < 400 ? undefined : codeOf(body)
  const toldNames = TOLD_HEADERS.filter((name) => headers[name] !== undefined)
  if (code === undefined && toldNames.length === 0) return
  const document = documents.get(app) ?? fetchDocument(app)
  documents.set(app, document)
  const operations = Object.entries((await document).paths)
    .filter(([pattern]) => patternOf(pattern).test(path))
    .flatMap(([, methods]) => methods[method.toLowerCase()] ?? [])
  const codes = operations.flatMap(({ responses }) => responses[status]?.description.split(', ') ?? [])
  if (operations.length === 0) return
  const answer = `${method} ${path} answers ${status}`
  if (code !== undefined && !codes.includes(code)) {
    throw new Error(`${answer} ${code}: name it with refusalCodes() in its schema, for GET /openapi`)
  }
  const described = operations.flatMap(({ responses }) => responses[status] ?? [])
  const names = described.flatMap(({ headers: declared = {} }) =>
    Object.keys(declared).map((name) => name.toLowerCase()),
  )
  const missing = toldNames.filter((name) => !names.includes(name))
  if (missing.length > 0) throw new Error(`${answer} with ${missing.join(', ')}: name it in openapi-headers.ts`)
}

/** Returns the document of the first service that had the same routes: no setting changes what a route describes. */
function fetchDocument(app: App): Promise<Document> {
  const routes = app.printRoutes()
  const document = documentsByRoutes.get(routes) ?? app.inject('/openapi').then((response) => response.json<Document>())
  documentsByRoutes.set(routes, document)
  return document
}

function codeOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}
