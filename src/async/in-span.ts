/**
 * Runs `work` in a new span of the trace, as a child of the current request's span. Runs it without a span outside of
 * requests, and when the trace is not sampled. The names are constants of the code.
 */
export type InSpan = <T>(name: string, work: () => Promise<T>) => Promise<T>
