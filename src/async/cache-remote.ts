/**
 * A cache of what another server publishes: concurrent callers cost one request, and while the server cannot be reached
 * the last value stays in use, as in the `stale-if-error` extension of HTTP caching (RFC 5861 section 4).
 */
import { isFresh } from './cache.ts'
import { singleFlight } from './single-flight.ts'

export interface RemoteValue<T> {
  /**
   * Returns the value. Loads it first when it is not fresh, or when `isEnough` returns false for it. Rejects with the
   * error of `load` when no usable value is left.
   */
  readonly get: (isEnough?: (value: T) => boolean) => Promise<T>
}

export interface RemoteExpiry {
  /** The age in milliseconds up to which the value is used without a request. */
  readonly freshMs: number
  /** The age in milliseconds up to which the value is used when it cannot be loaded again. */
  readonly usableMs: number
  /** The least time in milliseconds between the starts of two requests, successful or not. */
  readonly pauseMs: number
  readonly now: () => Date
}

/**
 * Caches the value that `load` resolves to. Calls `onStale` with the error when `load` fails and an old value is
 * returned.
 */
export function cacheRemote<T>(
  { freshMs, usableMs, pauseMs, now }: RemoteExpiry,
  load: () => Promise<T>,
  onStale: (error: unknown) => void,
): RemoteValue<T> {
  let current: { readonly value: T; readonly since: number } | undefined
  let lastLoad: { readonly at: number; readonly done: Promise<unknown> } | undefined
  const isWithin = (at: number, ms: number): boolean => isFresh(now().getTime() - at, ms)

  const refresh = singleFlight(() => {
    const at = now().getTime()
    const done = load().then((value) => {
      current = { value, since: at }
    })
    // During the pause, callers get the failure of the last request from `lastLoad`.
    lastLoad = { at, done }
    return done
  })
  return {
    get: async (isEnough = () => true) => {
      if (current !== undefined && isWithin(current.since, freshMs) && isEnough(current.value)) return current.value
      const mayLoad = lastLoad === undefined || !isWithin(lastLoad.at, pauseMs)
      try {
        await (mayLoad ? refresh() : lastLoad?.done)
      } catch (error) {
        if (current === undefined || !isWithin(current.since, usableMs)) throw error
        if (mayLoad) onStale(error)
      }
      return (current as { readonly value: T }).value
    },
  }
}
