/** Values that never change once they are stored, kept in memory by id. */
import { lru } from './lru.ts'

/** Loads as `load` does, and remembers the `size` values asked for last. What is not there is asked for again. */
export function remembered<T>(
  size: number,
  load: (id: string) => Promise<T | undefined>,
): (id: string) => Promise<T | undefined> {
  const values = lru<string, T>(size)
  return async (id) => {
    const known = values.get(id)
    if (known !== undefined) return known
    const value = await load(id)
    if (value !== undefined) values.set(id, value)
    return value
  }
}
