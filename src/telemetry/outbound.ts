/** Spans for the requests of a service to other servers. Semantic Conventions for HTTP Spans, HTTP client. */
import { readTraceHeaders, traceHeadersOf } from '../codec/trace-context.ts'
import { parseInternationalUrl } from '../codec/url.ts'
import { type HttpClientRequest, type HttpClientResponse, type Outbound, OutboundError } from '../http/outbound.ts'
import type { Attributes, Span, Tracer } from './tracer.ts'

/**
 * Wraps an HTTP client so that each request is a span below the current request's span. Only requests with a `trace`
 * are sent with trace headers: by these, other servers could tell which of their requests belong together.
 */
export function traceOutbound(outbound: Outbound, tracer: Tracer): Outbound {
  return (request) => {
    const { trace, headers } = request
    const { method = 'GET' } = request
    const step = {
      name: method,
      kind: 'client',
      attributes: { 'http.request.method': method, ...hostOf(request) },
    } as const
    const parent = trace && readTraceHeaders(trace.traceparent, trace.tracestate)
    if (parent === undefined) return tracer.runStep(step, (span) => sendInSpan(outbound, request, span))
    return tracer.runStepOf(parent, step, (span) =>
      sendInSpan(outbound, { ...request, headers: { ...headers, ...traceHeadersOf(span.context) } }, span),
    )
  }
}

async function sendInSpan(
  outbound: Outbound,
  request: HttpClientRequest,
  span: Span | undefined,
): Promise<HttpClientResponse> {
  try {
    const answer = await outbound(request)
    if (span !== undefined) recordAnswer(span, answer)
    return answer
  } catch (error) {
    if (span !== undefined && error instanceof OutboundError) {
      span.attributes = { ...span.attributes, 'error.type': error.limit ?? 'unreachable' }
    }
    throw error
  }
}

function recordAnswer(span: Span, { status }: HttpClientResponse): void {
  const hasFailed = status >= 400
  span.hasFailed = hasFailed
  span.attributes = {
    ...span.attributes,
    'http.response.status_code': status,
    ...(hasFailed ? { 'error.type': String(status) } : {}),
  }
}

/** Returns the host and the port of a request, without the path, which may be a secret. */
function hostOf({ url: text }: HttpClientRequest): Attributes {
  const url = parseInternationalUrl(text)
  if (url === undefined) return {}
  const { hostname, port, protocol } = url
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) }
}
