/** Values that never change once they are stored, kept in memory by id. */

/** Loads as `load` does, and remembers the `size` values asked for last. What is not there is asked for again. */
export function remembered<T>(
  size: number,
  load: (id: string) => Promise<T | undefined>,
): (id: string) => Promise<T | undefined> {
  const values = new Map<string, T>()
  return async (id) => {
    const value = values.get(id) ?? (await load(id))
    if (value === undefined) return undefined
    // A Map keeps the order of insertion: the first is the one not asked for longest.
    values.delete(id)
    values.set(id, value)
    const [oldest] = values.keys()
    if (values.size > size && oldest !== undefined) values.delete(oldest)
    return value
  }
}
