/** Requests as a component sees them, and what it may answer. */
import { type HttpRequestData, type HttpResponseData, headerValue } from '../../src/offchain/http-data.ts'

export interface Request {
  readonly method: string
  /** The part of the target after the contract's address: from its first slash, query included, never decoded. */
  readonly uri: string
  /** `uri` before its question mark, never decoded. */
  readonly path: string
  /** The first value of each name after the question mark, decoded. */
  readonly query: Readonly<Record<string, string>>
  /** Returns the first value of a header, whatever the case of the name. */
  header(name: string): string | undefined
  readonly body: Uint8Array
  /** Returns the SHA-256 of the body. The engine computes it, in a moment; in the sandbox a megabyte takes seconds. */
  bodyDigest(): Uint8Array
  /** Returns the body as UTF-8. Throws a TypeError when it is none. */
  text(): string
  /** Returns the body as JSON. Throws when it is none; JSON that is nested some ten thousand times ends the call. */
  json(): unknown
}

export interface Response {
  /** The status, from 200 to 599. */
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

/** Makes a response of type `application/json`. */
export function json(status: number, value: unknown): Response {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** Makes a response of type `text/plain`. */
export function text(status: number, body: string): Response {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

/** Makes the request that a component sees. `bodyDigest` asks the engine. */
export function requestOf(data: HttpRequestData, bodyDigest: () => Uint8Array): Request {
  const { method, uri, body } = data
  const [path = '', query = ''] = splitAt(uri, '?')
  const read = (): string => new TextDecoder('utf-8', { fatal: true }).decode(body)
  return {
    method,
    uri,
    path,
    get query() {
      return queryOf(query)
    },
    header: (name) => headerValue(data, name),
    body,
    bodyDigest,
    text: read,
    json: () => JSON.parse(read()) as unknown,
  }
}

export function responseData({ status, headers = {}, body = '' }: Response): HttpResponseData {
  return {
    status,
    headers: Object.entries(headers).map(([name, value]) => ({ name, values: [value] })),
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
  }
}

function splitAt(text: string, mark: string): string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function queryOf(query: string): Record<string, string> {
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  for (const part of query.split('&')) {
    const [name = '', value = ''] = splitAt(part, '=').map(decoded)
    if (name !== '' && !(name in values)) values[name] = value
  }
  return values
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
