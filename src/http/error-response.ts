/** The one place where an error becomes an answer: `{"error", "error_description"}` and its status. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, ProtocolError, statusOf } from '../protocol/error.ts'

/** Turns whatever was thrown into a {@link ProtocolError}; what we did not mean becomes `server_error` without detail. */
export function toProtocolError(error: unknown, request: FastifyRequest): ProtocolError {
  if (error instanceof ProtocolError) return error
  const { statusCode, validation, message } = error as FastifyError
  const { malformed } = request.routeOptions.config
  if (statusCode === 413) return new ProtocolError('request_too_large', 'the request body is too large')
  if (validation !== undefined) return new ProtocolError(malformed ?? 'invalid_request', message)
  if (statusCode === 415) {
    return new ProtocolError(malformed ?? 'unsupported_media_type', 'this endpoint does not take that Content-Type')
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ProtocolError(malformed ?? 'invalid_request', `the request cannot be read: ${message}`)
  }
  return new ProtocolError('server_error', 'something went wrong here; the request id names it in the log', {
    cause: error,
  })
}

export function sendError(error: ProtocolError, request: FastifyRequest, reply: FastifyReply): void {
  const challenge = challengeFor(error.code, request)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  const description = request.routeOptions.config.admin ? error.message : plainAscii(error.message)
  reply.code(statusOf[error.code]).send({ error: error.code, error_description: description })
}

/** RFC 6750 section 3: no error code when the request carried no token at all. */
function challengeFor(code: ErrorCode, request: FastifyRequest): string | undefined {
  if (code === 'unauthorized') return 'Bearer'
  if (code === 'invalid_token') return request.headers.authorization ? 'Bearer error="invalid_token"' : 'Bearer'
  return code === 'insufficient_scope' ? 'Bearer error="insufficient_scope"' : undefined
}

/** The characters that RFC 6749 section 5.2 allows in `error_description`. */
function plainAscii(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^ -~]/g, '?')
}
