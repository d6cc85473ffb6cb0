/** Single flight: work that many callers ask for at the same time runs once, and all of them get its result. */

/** Returns a function that starts `work`, or joins the run in progress. A call after the end of a run starts the next one. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  const run = singleFlightByKey(() => '', work)
  return () => run()
}

/** A single flight for each key, which `keyOf` makes of the arguments. */
export function singleFlightByKey<Arguments extends readonly unknown[], T>(
  keyOf: (...args: NoInfer<Arguments>) => string,
  work: (...args: Arguments) => Promise<T>,
): (...args: Arguments) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (...args) => {
    const key = keyOf(...args)
    const current = running.get(key)
    if (current !== undefined) return current
    const started = work(...args).finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
