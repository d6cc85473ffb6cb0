/** A map of bounded size that evicts the least recently used entry. */
export interface Lru<K, V> {
  get(key: K): V | undefined
  /**
   * Sets a value. Returns the keys that were evicted to make room, or `key` itself when the value is heavier than the
   * limit.
   */
  set(key: K, value: V): readonly K[]
  delete(key: K): void
}

/**
 * Creates a map whose values weigh at most `size` together. Without `weightOf` each value weighs 1, and the map holds
 * `size` entries. `get` and `set` count as use. A value is weighed when it is set.
 */
export function createLru<K, V>(size: number, weightOf: (value: V) => number = () => 1): Lru<K, V> {
  // A Map keeps the order of insertion, so its first key is the least recently used.
  const entries = new Map<K, { readonly value: V; readonly weight: number }>()
  let total = 0
  const remove = (key: K): void => {
    total -= entries.get(key)?.weight ?? 0
    entries.delete(key)
  }
  const set = (key: K, value: V): readonly K[] => {
    const weight = weightOf(value)
    remove(key)
    if (weight > size) return [key]
    entries.set(key, { value, weight })
    total += weight
    const evictedKeys: K[] = []
    for (const oldest of entries.keys()) {
      if (total <= size) break
      remove(oldest)
      evictedKeys.push(oldest)
    }
    return evictedKeys
  }
  return {
    get: (key) => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set,
    delete: remove,
  }
}
