/**
 * Strict body parsers: UTF-8, percent-encoding and JSON are decoded without loss or refused with status 400, and
 * compressed bodies are refused. RFC 8259 section 8.1; RFC 6749 appendix B for forms. They are content type parsers of
 * Fastify.
 */
import type { FastifyRequest } from 'fastify'
import { type Json, parseJson } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import { utf8Text } from '../codec/utf8.ts'
import { ProtocolError } from '../protocol/error.ts'

type ParserCallback = (error: Error | null, body?: unknown) => void
type BodyParser = (request: FastifyRequest, body: Buffer, callback: ParserCallback) => void

/** The maximum number of form parameters. */
const MAX_PARAMETERS = 100

/** Parses a JSON body. Refuses like {@link parseJson}, and members named `__proto__`. */
export const parseJsonBody = createBodyParser((bytes) => {
  const value = parseJson(bytes)
  const path = reservedPath(value)
  return path === undefined ? value : malformed(`${path}: this name is reserved`)
})

/** Parses a form body, like {@link parseForm}. */
export const parseFormBody = createBodyParser((bytes) => parseForm(utf8Text(bytes)))

/**
 * Parses a form, or a query in that format. An empty parameter is an absent one (RFC 6749 sections 3.1 and 3.2), and a
 * repeated one becomes an array, which its schema refuses. Throws a MalformedError for wrong percent-encoding and for
 * too many parameters.
 */
export function parseForm(text: string): Readonly<Record<string, string | string[]>> {
  const parts = text.split('&', MAX_PARAMETERS + 1).filter(Boolean)
  if (parts.length > MAX_PARAMETERS) malformed(`the form has more than ${MAX_PARAMETERS} parameters`)
  const form = Object.create(null) as Record<string, string | string[]>
  for (const part of parts) {
    const equals = part.includes('=') ? part.indexOf('=') : part.length
    const [name, value] = [decodePercent(part.slice(0, equals)), decodePercent(part.slice(equals + 1))]
    if (value !== '') form[name] = name in form ? [form[name] ?? [], value].flat() : value
  }
  return form
}

/** Decodes a text body, such as a JWT. */
export const parseTextBody = createBodyParser(utf8Text)

function createBodyParser(decode: (bytes: Uint8Array) => unknown): BodyParser {
  return (request, bytes, callback) => {
    if (isEncoded(request)) {
      callback(encodedBodyError(request))
      return
    }
    let body: unknown
    try {
      body = decode(bytes)
    } catch (error) {
      callback(Object.assign(new Error((error as Error).message, { cause: error }), { statusCode: 400 }))
      return
    }
    callback(null, body)
  }
}

/** Tests whether the sender has compressed the body, or encoded it otherwise. RFC 9110 section 8.4. */
function isEncoded({ headers }: FastifyRequest): boolean {
  const encodings = headers['content-encoding']?.split(',') ?? []
  return encodings.some((encoding) => !['', 'identity'].includes(encoding.trim().toLowerCase()))
}

function encodedBodyError({ routeOptions }: FastifyRequest): ProtocolError {
  const description = 'the body is encoded; send it as it is, without Content-Encoding'
  return new ProtocolError(routeOptions.config.malformedError ?? 'unsupported_media_type', description)
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    return malformed('the form is not percent-encoded UTF-8', cause)
  }
}

/**
 * Returns the path of a member named `__proto__`, if there is one. Goes through arrays without a copy of their indices,
 * since anybody may send half a million elements.
 */
function reservedPath(value: Json): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const inner = reservedPath(value[index] ?? null)
      if (inner !== undefined) return joinPath(`[${index}]`, inner)
    }
    return undefined
  }
  if (Object.hasOwn(value, '__proto__')) return '__proto__'
  for (const name of Object.keys(value)) {
    const inner = reservedPath(value[name] ?? null)
    if (inner !== undefined) return joinPath(name, inner)
  }
  return undefined
}

function joinPath(step: string, inner: string): string {
  return `${step}${inner.startsWith('[') ? '' : '.'}${inner}`
}
