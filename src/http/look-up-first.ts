/**
 * Looks up the subject of a request before its body is read, so that a body for an unknown subject costs one look-up.
 */
import type { FastifyRequest } from 'fastify'

interface SubjectLookUp<T> {
  /** Looks up the subject when a request of the route begins; a refusal of the look-up is the response. */
  readonly onRequest: (request: FastifyRequest) => Promise<void>
  /** Returns the subject of a request to the handler of the route. */
  readonly subjectOf: (request: FastifyRequest) => T
}

/** Makes the hook that calls `lookUp`, and the function that returns its result to the handler. */
export function createSubjectLookUp<T>(lookUp: (request: FastifyRequest) => Promise<T>): SubjectLookUp<T> {
  const subjects = new WeakMap<FastifyRequest, T>()
  return {
    onRequest: async (request) => {
      subjects.set(request, await lookUp(request))
    },
    subjectOf: (request) => subjects.get(request) as T,
  }
}
