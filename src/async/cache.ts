/** Caches of values that are costly to make. No cache keeps a failure: the next call tries again. */
import { createLru } from './lru.ts'

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

/** Creates a cache of at most `size` values; without `expiry` a value is used until it is evicted or deleted. */
export function createPromiseCache<T>(size: number, expiry?: Expiry): PromiseCache<T> {
  const entries = createLru<string, { readonly value: Promise<T>; readonly at: number }>(size)
  const time = (): number => expiry?.now().getTime() ?? 0
  // The age is negative when the clock was set back.
  const isFresh = (age: number): boolean => expiry === undefined || (age >= 0 && age < expiry.ttlMs)
  return {
    get: (key, load) => {
      const cached = entries.get(key)
      if (cached !== undefined && isFresh(time() - cached.at)) return cached.value
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
 * Caches the `size` most recently used values, which must never change once `load` finds them. An absent value is not
 * cached, and concurrent callers do not share a run of `load`: a caller sees every value that was stored before its
 * call.
 */
export function cacheById<T>(
  size: number,
  load: (id: string) => Promise<T | undefined>,
): (id: string) => Promise<T | undefined> {
  const values = createLru<string, T>(size)
  return async (id) => {
    const cached = values.get(id)
    if (cached !== undefined) return cached
    const value = await load(id)
    if (value !== undefined) values.set(id, value)
    return value
  }
}

/** Caches what `derive` makes of `source()`, for as long as `source` returns the same object. */
export function cacheDerived<A, B>(source: () => A, derive: (value: A) => B): () => B {
  let cached: { readonly from: A; readonly value: B } | undefined
  return () => {
    const from = source()
    if (cached?.from !== from) cached = { from, value: derive(from) }
    return cached.value
  }
}
