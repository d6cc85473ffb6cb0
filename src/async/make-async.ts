/**
 * Makes a function that rejects where `run` throws, so that an error does not surprise a caller that only awaits.
 */
export function makeAsync<Args extends readonly unknown[], T>(
  run: (...args: Args) => T,
): (...args: Args) => Promise<T> {
  return (...args) => new Promise((resolve) => resolve(run(...args)))
}
