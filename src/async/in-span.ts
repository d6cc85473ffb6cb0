/**
 * Runs work as a step of its own in the trace of the request that it is done for; without such a request, or where its
 * trace is not kept, the work runs alone. The name is one of few, and nothing of it comes from outside.
 */
export type InSpan = <T>(name: string, work: () => Promise<T>) => Promise<T>
