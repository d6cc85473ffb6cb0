/** Caches of values that are costly to make. No cache keeps a failure: the next call tries again. */

/** The time for which a cached value is used, and the clock that measures the time. */
export interface Expiry {
  readonly ttlMs: number
  readonly now: () => Date
}

export interface PromiseCache<T> {
  /**
   * Returns the cached promise for `key`, or the one that `load` returns. Concurrent callers share one run of `load`.
   */
  get(key: string, load: () => Promise<T>): Promise<T>
  /** Drops the value, also while it is still being loaded. */
  delete(key: string): void
}

/** Tests whether a value of this age is used still. The age is negative when the clock was set back. */
export function isFresh(ageMs: number, ttlMs: number): boolean {
  return ageMs >= 0 && ageMs < ttlMs
}

/** Creates a cache of at most `size` values. Without `expiry`, a value is used until it is evicted or deleted. */
export function createPromiseCache<T>(size: number, expiry?: Expiry): PromiseCache<T> {
  const entries = createLru<string, { readonly value: Promise<T>; readonly at: number }>(size)
  const time = (): number => expiry?.now().getTime() ?? 0
  return {
    get: (key, load) => {
      const cachedEntry = entries.get(key)
      if (cachedEntry !== undefined && (expiry === undefined || isFresh(time() - cachedEntry.at, expiry.ttlMs)))
        return cachedEntry.value
      const entry = { value: load(), at: time() }
      entries.set(key, entry)
      entry.value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key)
      })
      return entry.value
    },
    delete: (key) => entries.delete(key),
  }
}

/** Returns a function that runs `read` once, and returns its result each time. After a failure it runs again. */
export function memoize<T>(read: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => {
    result ??= { value: read() }
    return result.value
  }
}

export interface BytesCache {
  /**
   * Returns the bytes that are cached for `key` with the same `tag`, or those that `load` resolves to. Concurrent
   * callers with one tag share a run of `load`.
   */
  get(key: string, tag: string, load: () => Promise<Buffer>): Promise<Buffer>
}

/** An estimate of the bytes that an entry takes beside its value: those of keys, tags and objects. */
const ENTRY_BYTES = 500

/** Creates a cache that takes at most `size` bytes of memory, and evicts the least recently used entries. */
export function createBytesCache(size: number): BytesCache {
  const entries = createLru<string, { readonly tag: string; readonly value: Promise<Buffer>; bytes: number }>(
    size,
    ({ bytes }) => bytes + ENTRY_BYTES,
  )
  return {
    get: (key, tag, load) => {
      const cachedEntry = entries.get(key)
      if (cachedEntry?.tag === tag) return cachedEntry.value
      const entry = { tag, value: load().then(copyBytes), bytes: 0 }
      entries.set(key, entry)
      entry.value.then(
        ({ length }) => {
          entry.bytes = length
          // The entry is weighed anew.
          if (entries.get(key) === entry) entries.set(key, entry)
        },
        () => {
          if (entries.get(key) === entry) entries.delete(key)
        },
      )
      return entry.value
    },
  }
}

/**
 * Returns the bytes in a buffer of their own: a small Buffer is a slice of a larger one, and keeps all of it in memory.
 */
function copyBytes(bytes: Buffer): Buffer {
  return bytes.length === bytes.buffer.byteLength ? bytes : Buffer.from(new Uint8Array(bytes).buffer)
}

export interface CachedValue<T> {
  readonly get: () => Promise<T>
  /** Drops the cached value, so that the next `get` loads it again. */
  readonly invalidate: () => void
}

/** Caches the one value that `load` resolves to; without `expiry` it is used until it is invalidated. */
export function cacheValue<T>(load: () => Promise<T>, expiry?: Expiry): CachedValue<T> {
  const cache = createPromiseCache<T>(1, expiry)
  return { get: () => cache.get('', load), invalidate: () => cache.delete('') }
}

/**
 * Caches the `size` most recently used values, which must never change once `load` has found them. An absent value is
 * not cached, and concurrent calls do not share a run of `load`, so that a caller sees every value that was stored
 * before its call.
 */
export function cacheById<T>(
  size: number,
  load: (id: string) => Promise<T | undefined>,
): (id: string) => Promise<T | undefined> {
  const values = createLru<string, T>(size)
  return async (id) => {
    const cachedValue = values.get(id)
    if (cachedValue !== undefined) return cachedValue
    const value = await load(id)
    if (value !== undefined) values.set(id, value)
    return value
  }
}

/** Caches the result of `derive(source())` for as long as `source` returns the same object. */
export function cacheDerived<A, B>(source: () => A, derive: (value: A) => B): () => B {
  let cachedEntry: { readonly from: A; readonly value: B } | undefined
  return () => {
    const from = source()
    if (cachedEntry?.from !== from) cachedEntry = { from, value: derive(from) }
    return cachedEntry.value
  }
}

/** A map of bounded size that evicts the least recently used entry. */
export interface Lru<K, V> {
  get(key: K): V | undefined
  /** Returns all values, which does not count as use. */
  values(): readonly V[]
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
    values: () => Array.from(entries.values(), ({ value }) => value),
    set,
    delete: remove,
  }
}
