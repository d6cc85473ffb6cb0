/** Requests to components and their responses, as they cross the border of the sandbox. */
import { type Reader, reader, type Writer, writer } from './rpc.ts'

/** A header with all its values. Names come in lower case from the engine; a component may write them as it likes. */
export interface Header {
  readonly name: string
  readonly values: readonly string[]
}

export interface HttpRequestData {
  readonly method: string
  /** The request target after the contract address: from its first slash, query included, never decoded. */
  readonly uri: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

export interface HttpResponseData {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

export function writeRequest({ method, uri, headers, body }: HttpRequestData, to: Writer = writer()): Writer {
  return writeHeaders(headers, to.text(method).text(uri)).bytes(body)
}

/** Reads an HTTP request. Throws a MalformedError. */
export function readHttpRequest(from: Reader): HttpRequestData {
  return { method: from.text(), uri: from.text(), headers: readHeaders(from), body: from.bytes() }
}

export function writeHttpResponse({ status, headers, body }: HttpResponseData, to: Writer = writer()): Writer {
  return writeHeaders(headers, to.u32(status)).bytes(body)
}

/** Reads an HTTP response, which must fill `bytes`. Throws a MalformedError. */
export function readResponse(bytes: Uint8Array): HttpResponseData {
  const from = reader(bytes)
  const response = { status: from.u32(), headers: readHeaders(from), body: from.bytes() }
  from.end()
  return response
}

function writeHeaders(headers: readonly Header[], to: Writer): Writer {
  return to.list(headers, ({ name, values }) => to.text(name).list(values, (value) => to.text(value)))
}

function readHeaders(from: Reader): Header[] {
  return from.list(() => ({ name: from.text(), values: from.list(() => from.text()) }))
}

/** Returns the first value of a header, whatever the case of its name. */
export function headerValue({ headers }: { readonly headers: readonly Header[] }, name: string): string | undefined {
  const lowerCased = name.toLowerCase()
  return headers.find((header) => header.name.toLowerCase() === lowerCased)?.values[0]
}
