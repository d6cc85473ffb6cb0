/**
 * The span of each request to a server. OpenTelemetry, Semantic Conventions for HTTP Spans; without `url.path`, which
 * may have a session id.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../codec/digest.ts'
import { readTraceHeaders } from '../codec/trace-context.ts'
import type { RequestTracer } from '../http/request-tracer.ts'
import type { Attributes, Span, Tracer } from './tracer.ts'

/** The methods that a span names. Semantic Conventions for HTTP Spans, http.request.method. */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']

interface Traced {
  readonly span: Span
  readonly route: string | undefined
  error?: string
}

export function createRequestTracer(tracer: Tracer): RequestTracer {
  const spans = new WeakMap<IncomingMessage, Traced>()
  return {
    beginSpan: (request, reply, route) => {
      const traced = { span: tracer.begin('server'), route }
      spans.set(request.raw, traced)
      // An answer that nobody takes is closed, and never finished.
      reply.raw.once('close', () => end(tracer, traced, request, reply))
    },
    continueTrace: (request) => {
      const { traceparent, tracestate } = request.headers
      const caller = readTraceHeaders(traceparent, tracestate)
      const traced = spans.get(request.raw)
      if (caller !== undefined && traced !== undefined) tracer.move(traced.span, caller)
    },
    recordRefusal: (request, error) => {
      const traced = spans.get(request)
      if (traced !== undefined) traced.error = error
    },
    runInSpan: ({ raw }, work) => {
      const traced = spans.get(raw)
      return traced === undefined ? work() : tracer.within(traced.span, work)
    },
  }
}

function end(tracer: Tracer, { span, route, error }: Traced, request: FastifyRequest, reply: FastifyReply): void {
  const { method: sentMethod, routeOptions, is404 } = request
  const method = METHODS.includes(sentMethod) ? sentMethod : '_OTHER'
  const template = route ?? (is404 ? undefined : routeOptions.url)
  const { statusCode, writableFinished } = reply.raw
  const isOurs = writableFinished && statusCode >= 500
  span.name = template === undefined ? method : `${method} ${template}`
  span.hasFailed = isOurs
  span.attributes = {
    'http.request.method': method,
    ...(template === undefined ? {} : { 'http.route': template }),
    ...(writableFinished ? { 'http.response.status_code': statusCode } : { 'error.type': 'aborted' }),
    ...(isOurs ? { 'error.type': error ?? String(statusCode) } : {}),
    ...(error === undefined ? {} : { 'vouchsafe.error': error }),
    ...ownAttributes(request),
  }
  tracer.end(span)
}

/** Returns what the log says of a request, by which its lines are found without their trace. */
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
