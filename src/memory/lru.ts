/** A map that keeps what was asked for last. */

export interface Lru<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

/** Holds `size` values; the one not asked for longest makes room. */
export function lru<K, V>(size: number): Lru<K, V> {
  // A Map keeps the order of insertion: the first is the one not asked for longest.
  const values = new Map<K, V>()
  const set = (key: K, value: V): void => {
    values.delete(key)
    values.set(key, value)
    if (values.size <= size) return
    for (const oldest of values.keys()) {
      values.delete(oldest)
      break
    }
  }
  return {
    get: (key) => {
      const value = values.get(key)
      if (value !== undefined) set(key, value)
      return value
    },
    set,
    delete: (key) => void values.delete(key),
  }
}
