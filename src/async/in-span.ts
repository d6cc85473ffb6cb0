/**
 * Runs `work` in a new span with the name `name` below the span of the current request; without a span when there is no
 * request, or its trace is not sampled. The names are constants of the code.
 */
export type InSpan = <T>(name: string, work: () => Promise<T>) => Promise<T>
