/** Wraps a synchronous function in one that returns a promise, which rejects when `run` throws. */
export function makeAsync<Args extends readonly unknown[], T>(
  run: (...args: Args) => T,
): (...args: Args) => Promise<T> {
  return (...args) => new Promise((resolve) => resolve(run(...args)))
}
