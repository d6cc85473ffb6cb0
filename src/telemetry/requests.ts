/**
 * Spans for the requests to a server. OpenTelemetry, Semantic Conventions for HTTP Spans; without `url.path`, which may
 * contain a session id.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../codec/digest.ts'
import { readTraceHeaders } from '../codec/trace-context.ts'
import type { RequestTracer } from '../http/request-tracer.ts'
import type { Attributes, Span, Tracer } from './tracer.ts'

/**
 * The methods that a span may name; others become `_OTHER`. Semantic Conventions for HTTP Spans, http.request.method.
 */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']

interface TracedRequest {
  readonly span: Span
  readonly route: string | undefined
  error?: string
}

/** Makes the hooks by which a server traces its requests. */
export function createRequestTracer(tracer: Tracer): RequestTracer {
  const tracedRequests = new WeakMap<IncomingMessage, TracedRequest>()
  return {
    beginSpan: (request, reply, route) => {
      const tracedRequest = { span: tracer.beginTrace('server'), route }
      tracedRequests.set(request.raw, tracedRequest)
      // The response emits `close` also when its client disconnects; it emits `finish` only when it was sent.
      reply.raw.once('close', () => endSpan(tracer, tracedRequest, request, reply))
    },
    continueTrace: (request) => {
      const { traceparent, tracestate } = request.headers
      const caller = readTraceHeaders(traceparent, tracestate)
      const tracedRequest = tracedRequests.get(request.raw)
      if (caller !== undefined && tracedRequest !== undefined) tracer.joinTrace(tracedRequest.span, caller)
    },
    recordRefusal: (request, error) => {
      const tracedRequest = tracedRequests.get(request)
      if (tracedRequest !== undefined) tracedRequest.error = error
    },
    runInSpan: ({ raw }, work) => {
      const tracedRequest = tracedRequests.get(raw)
      return tracedRequest === undefined ? work() : tracer.runInSpan(tracedRequest.span, work)
    },
  }
}

/** Sets the name and the attributes of a request's span, and ends the span; called when the response closes. */
function endSpan(
  tracer: Tracer,
  { span, route, error }: TracedRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { method: sentMethod, routeOptions, is404 } = request
  const method = METHODS.includes(sentMethod) ? sentMethod : '_OTHER'
  const template = route ?? (is404 ? undefined : routeOptions.url)
  const { statusCode, writableFinished } = reply.raw
  const isServerError = writableFinished && statusCode >= 500
  span.name = template === undefined ? method : `${method} ${template}`
  span.hasFailed = isServerError
  span.attributes = {
    'http.request.method': method,
    ...(template === undefined ? {} : { 'http.route': template }),
    ...(writableFinished ? { 'http.response.status_code': statusCode } : { 'error.type': 'aborted' }),
    ...(isServerError ? { 'error.type': error ?? String(statusCode) } : {}),
    ...(error === undefined ? {} : { 'vouchsafe.error': error }),
    ...ownAttributes(request),
  }
  tracer.endTrace(span)
}

/**
 * Returns as attributes the members that log lines about the request have, so that the lines of a span can be found.
 */
function ownAttributes({
  id,
  sessionId,
  apiKeyLabel,
}: Partial<FastifyRequest> & Pick<FastifyRequest, 'id'>): Attributes {
  return {
    'vouchsafe.request': id,
    ...(sessionId ? { 'vouchsafe.session': digestOf(sessionId) } : {}),
    ...(apiKeyLabel ? { 'vouchsafe.caller': apiKeyLabel } : {}),
  }
}
