/** Converts errors to responses: `{"error", "error_description"}`, or a page for a person. Only this file does. */
import type { ConnectionError, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, HTTP_STATUS, ProtocolError, plainAscii } from '../protocol/error.ts'
import { ConflictError } from '../store/retry.ts'
import { isForPerson, refusalPage, setBrowserPage } from './browser-page.ts'
import type { ErrorResponse } from './server.ts'

/** Converts any error to a {@link ProtocolError}. An unexpected error becomes `server_error` without details. */
export function toProtocolError(error: unknown, request: FastifyRequest): ProtocolError {
  if (error instanceof ProtocolError) return error
  if (error instanceof ConflictError) {
    const description = 'too many requests change the same at once; try again in a moment'
    return new ProtocolError('temporarily_unavailable', description, { cause: error, retryAfterSeconds: 1 })
  }
  const { statusCode, validation, message, cause } = error as FastifyError
  const { malformedError } = request.routeOptions.config
  if (statusCode === 413) {
    const { bodyLimit } = request.routeOptions
    return new ProtocolError('request_too_large', `the request body is too large: more than ${bodyLimit} bytes`)
  }
  if (validation !== undefined) return new ProtocolError(malformedError ?? 'invalid_request', message)
  if (statusCode === 415) {
    const text = `this endpoint takes ${acceptedTypes(request)}; say so in Content-Type`
    return new ProtocolError(malformedError ?? 'unsupported_media_type', text)
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ProtocolError(malformedError ?? 'invalid_request', `the request cannot be read: ${message}`, { cause })
  }
  return new ProtocolError('server_error', 'internal error; search the log for this request id', {
    cause: error,
  })
}

/** Returns the media types of bodies that the route accepts, as text. */
function acceptedTypes({ routeOptions }: FastifyRequest): string {
  const { body, consumes } = (routeOptions.schema ?? {}) as {
    body?: { content?: object }
    consumes?: readonly string[]
  }
  return (consumes ?? Object.keys(body?.content ?? { 'application/json': body })).join(' or ')
}

/** Sends the error as JSON or as a page, with its status and headers. */
export function sendError(error: ProtocolError, request: FastifyRequest, reply: FastifyReply): void {
  const challenge = error.challenge ?? challengeFor(error.code, request)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  // RFC 9110 section 12.5.3: tells the sender of an encoded body that no encoding is accepted.
  if (request.headers['content-encoding'] !== undefined) reply.header('accept-encoding', 'identity')
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  // RFC 9449 section 7.1: a proof that is refused with 400 at the token endpoint gets 401 with a challenge.
  const status = error.challenge !== undefined && HTTP_STATUS[error.code] === 400 ? 401 : HTTP_STATUS[error.code]
  if (isForPerson(request)) {
    reply.code(status).send(setBrowserPage(reply, refusalPage(error, request)))
    return
  }
  const { error_description: description = error.message, ...members } = error.members
  reply.code(status).send({ error: error.code, error_description: plainAscii(String(description)), ...members })
}

/** The time limit for receiving a request. */
export const REQUEST_SECONDS = 30

const NOT_HTTP = {
  status: 400,
  title: 'Bad Request',
  description: 'this is not an HTTP request that can be read',
}
/** The responses to parse errors of Node, by error code, other than a plain 400. */
const BROKEN_REQUESTS: Readonly<Record<string, typeof NOT_HTTP>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    title: 'Request Timeout',
    description: `the request did not arrive within ${REQUEST_SECONDS} seconds`,
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    title: 'Request Header Fields Too Large',
    description: 'the target and the header fields of the request are too large',
  },
}

/** Returns the response to bytes that are not an HTTP request, or to a request that did not arrive in time. */
export function describeBrokenRequest({ code }: ConnectionError): ErrorResponse {
  const { description, ...status } = BROKEN_REQUESTS[code] ?? NOT_HTTP
  return {
    ...status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: 'invalid_request', error_description: description }),
  }
}

/**
 * Returns the `WWW-Authenticate` challenge for an error whose code determines it; undefined if it needs none. Callers
 * that sent DPoP have a challenge from `issuer/access/dpop.ts`. A challenge has no error code if
 * the request had no token, or used another scheme. RFC 6750 section 3.1, RFC 9449 section 7.1.
 */
function challengeFor(code: ErrorCode, { headers: { authorization } }: FastifyRequest): string | undefined {
  if (code === 'unauthorized') return 'Bearer'
  if (code === 'invalid_token') return hasTokenScheme(authorization) ? 'Bearer error="invalid_token"' : 'Bearer'
  return code === 'insufficient_scope' ? 'Bearer error="insufficient_scope"' : undefined
}

/** Tests whether the value of an `Authorization` header has a scheme of access tokens. */
export function hasTokenScheme(authorization: string | undefined): boolean {
  return /^(Bearer|DPoP)\b/i.test(authorization ?? '')
}
