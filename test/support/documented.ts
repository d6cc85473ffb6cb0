/** Every refusal that a test meets stands in the OpenAPI document, by its operation, its status and its code. */
import type { App } from '../../src/http/app-type.ts'

interface Refusal {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly body: string
}

type Responses = Record<string, { readonly description: string }>
interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Responses }>>
}

const documents = new WeakMap<App, Promise<Document>>()

/** Throws where the document of `app` has the operation, and not this answer. */
export async function wantDocumented(app: App, { method, path, status, body }: Refusal): Promise<void> {
  if (status < 400) return
  const code = codeOf(body)
  if (code === undefined) return
  const document = documents.get(app) ?? app.inject('/openapi').then((response) => response.json<Document>())
  documents.set(app, document)
  const operations = Object.entries((await document).paths)
    .filter(([pattern]) => patternOf(pattern).test(path))
    .flatMap(([, methods]) => methods[method.toLowerCase()] ?? [])
  const codes = operations.flatMap(({ responses }) => responses[status]?.description.split(', ') ?? [])
  if (operations.length === 0 || codes.includes(code)) return
  throw new Error(
    `${method} ${path} answers ${status} ${code}: name it with refusalCodes() in its schema, for GET /openapi`,
  )
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
