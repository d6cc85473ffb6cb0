/** Looks up the subject of a request before its body is read, so that an unknown subject costs one look-up. */
import type { FastifyRequest } from 'fastify'

interface SubjectLookUp<T> {
  /** Looks up the subject at the start of the request. A refusal becomes the response. */
  readonly onRequest: (request: FastifyRequest) => Promise<void>
  /** Returns the subject, for the handler of the route. */
  readonly getSubject: (request: FastifyRequest) => T
}

/** Creates the hook that calls `lookUp`, and the function with which the handler gets the result. */
export function createSubjectLookUp<T>(lookUp: (request: FastifyRequest) => Promise<T>): SubjectLookUp<T> {
  const subjects = new WeakMap<FastifyRequest, T>()
  return {
    onRequest: async (request) => {
      subjects.set(request, await lookUp(request))
    },
    getSubject: (request) => subjects.get(request) as T,
  }
}
