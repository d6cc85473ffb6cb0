import { setImmediate } from 'node:timers/promises'

/** Does the work for each value in turn, and lets other tasks of the event loop run in between. */
export async function runInTurn<T, R>(values: readonly T[], work: (value: T) => R | Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const value of values) {
    if (results.length > 0) await setImmediate()
    results.push(await work(value))
  }
  return results
}
