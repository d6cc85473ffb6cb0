/** Spans as the frame of the servers knows them: one for each request. `telemetry/requests.ts` makes these. */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app-type.ts'

type Within = <T>(request: FastifyRequest, work: () => T) => T

export interface RequestTracer {
  /** Begins the span of a request, in a trace of its own. `route` is its template, where the router has none. */
  begin(request: FastifyRequest, reply: FastifyReply, route?: string): void
  /** Goes on with the trace that the caller names, where it names one. For callers that have shown an API key. */
  continueTrace(request: FastifyRequest): void
  /** Says why the request was refused; `error` is the code that the caller was told. */
  refuse(request: IncomingMessage, error: string): void
  /** Runs work as a part of the request. */
  readonly within: Within
}

/** Returns the function that runs work as a part of a request; without a tracer, the work runs alone. */
export function withinOf(tracer: RequestTracer | undefined): Within {
  return tracer?.within ?? ((_request, work) => work())
}

/** Adds the hooks by which the work for a request is a part of its span, before those that may refuse the request. */
export function traceRequests(
  app: App,
  tracer: RequestTracer,
  routeOf: (request: FastifyRequest) => string | undefined = () => undefined,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    tracer.begin(request, reply, routeOf(request))
    tracer.within(request, done)
  })
  // The connection calls what follows the reading of a body.
  app.addHook('preValidation', (request, _reply, done) => tracer.within(request, done))
}
