/** Looks up what a request is for before its body is read, so that a body for nothing costs one look-up and no more. */
import type { FastifyRequest } from 'fastify'

interface LookedUp<T> {
  /** A hook of the route; what the look-up refuses is the answer. */
  readonly onRequest: (request: FastifyRequest) => Promise<void>
  /** Gives what was found for a request, in the handler of the route. */
  readonly foundFor: (request: FastifyRequest) => T
}

/** A hook that asks `lookUp`, which refuses by throwing, and a function that gives the handler what was found. */
export function lookUpFirst<T>(lookUp: (request: FastifyRequest) => Promise<T>): LookedUp<T> {
  const found = new WeakMap<FastifyRequest, T>()
  return {
    onRequest: async (request) => {
      found.set(request, await lookUp(request))
    },
    foundFor: (request) => found.get(request) as T,
  }
}
