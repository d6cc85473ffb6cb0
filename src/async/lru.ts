/** A map of bounded size that evicts the least recently used entry. */
export interface Lru<K, V> {
  get(key: K): V | undefined
  /** Returns the key that was evicted to make room, if any. */
  set(key: K, value: V): K | undefined
  delete(key: K): void
}

/** Creates a map that holds at most `size` entries; `get` and `set` count as use. */
export function createLru<K, V>(size: number): Lru<K, V> {
  // A Map keeps the order of insertion, so its first key is the least recently used.
  const values = new Map<K, V>()
  const set = (key: K, value: V): K | undefined => {
    values.delete(key)
    values.set(key, value)
    if (values.size <= size) return undefined
    const [oldest] = values.keys()
    if (oldest !== undefined) values.delete(oldest)
    return oldest
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
