/** The interface for tracing requests: a span for each request. `telemetry/requests.ts` implements it. */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app-type.ts'

export interface RequestTracer {
  /** Starts the span of a request, in a new trace. `route` is the route template if the router has none. */
  beginSpan(request: FastifyRequest, reply: FastifyReply, route?: string): void
  /** Continues the caller's trace, if the request has trace headers. Called for requests with an API key. */
  continueTrace(request: FastifyRequest): void
  /** Records the refusal of a request; `error` is the error code of the response. */
  recordRefusal(request: IncomingMessage, error: string): void
  /** Runs `work` in the span of the request. */
  runInSpan<T>(request: FastifyRequest, work: () => T): T
}

/**
 * Adds the hook that runs the processing of a request in its span. It comes before hooks that may refuse the request.
 * Fastify keeps the async context after the body was read.
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
