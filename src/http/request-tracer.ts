/** The interface by which a server makes one span for each request. `telemetry/requests.ts` implements it. */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app-type.ts'

export interface RequestTracer {
  /** Begins the span of a request, in a trace of its own. `route` is its template, where the router has none. */
  beginSpan(request: FastifyRequest, reply: FastifyReply, route?: string): void
  /** Continues the trace that the caller names, where it names one. For callers that have shown an API key. */
  continueTrace(request: FastifyRequest): void
  /** Records why the request was refused; `error` is the code that the caller was told. */
  recordRefusal(request: IncomingMessage, error: string): void
  /** Runs `work` within the span of the request. */
  runInSpan<T>(request: FastifyRequest, work: () => T): T
}

/**
 * Adds the hook that runs all work for a request within its span, before the hooks that may refuse the request. Fastify
 * keeps the span of a request by itself after the body was read.
 */
export function traceRequests(
  app: App,
  tracer: RequestTracer,
  routeOf: (request: FastifyRequest) => string | undefined = () => undefined,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    tracer.beginSpan(request, reply, routeOf(request))
    tracer.runInSpan(request, done)
  })
}
