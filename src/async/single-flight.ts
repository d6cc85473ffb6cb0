/** Single flight: concurrent calls share one run of the work, and its result. */

/**
 * Returns a function that starts `work`, or joins the run in progress. A call after the end of a run starts the next
 * one.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  const run = singleFlightByKey(() => '', work)
  return () => run(undefined)
}

/**
 * Returns a function whose concurrent calls share a run when their arguments have the same key. `keyOf` returns the
 * key.
 */
export function singleFlightByKey<A, T>(
  keyOf: (argument: NoInfer<A>) => string,
  work: (argument: A) => Promise<T>,
): (argument: A) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (argument) => {
    const key = keyOf(argument)
    const current = running.get(key)
    if (current !== undefined) return current
    const newRun = work(argument).finally(() => running.delete(key))
    running.set(key, newRun)
    return newRun
  }
}
