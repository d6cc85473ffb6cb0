/**
 * Looks up what a request is for, as its session, before the body is read, so that a request for an unknown session
 * costs one look-up, and no body.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

interface EarlyLookUp<T> {
  /** Makes the look-up at the start of the request. A refusal becomes the response. */
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  /** Returns the result of the look-up, for the handler of the route. */
  readonly getResult: (request: FastifyRequest) => T
}

/**
 * Creates the hook that calls `lookUp`, which may set headers of the answer, and the function with which the handler
 * gets the result.
 */
export function createEarlyLookUp<T>(
  lookUp: (request: FastifyRequest, reply: FastifyReply) => Promise<T>,
): EarlyLookUp<T> {
  const results = new WeakMap<FastifyRequest, T>()
  return {
    onRequest: async (request, reply) => {
      results.set(request, await lookUp(request, reply))
    },
    getResult: (request) => results.get(request) as T,
  }
}
