/** Spans as the frame of the servers knows them: one for each request. `telemetry/requests.ts` makes these. */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app-type.ts'

export interface RequestTracer {
  /** Begins the span of a request, in a trace of its own. `route` is its template, where the router has none. */
  begin(request: FastifyRequest, reply: FastifyReply, route?: string): void
  /** Goes on with the trace that the caller names, where it names one. For callers that have shown an API key. */
  continueTrace(request: FastifyRequest): void
  /** Says why the request was refused; `error` is the code that the caller was told. */
  refuse(request: IncomingMessage, error: string): void
  /** Runs work as a part of the request. */
  within<T>(request: FastifyRequest, work: () => T): T
}

/**
 * Adds the hook by which all work for a request is a part of its span; the hook comes before those that may refuse the
 * request. Fastify itself goes on in the place of a request after its body was read.
 */
export function traceRequests(
  app: App,
  tracer: RequestTracer,
  routeOf: (request: FastifyRequest) => string | undefined = () => undefined,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    tracer.begin(request, reply, routeOf(request))
    tracer.within(request, done)
  })
}
