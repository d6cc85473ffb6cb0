/**
 * What could not be had, and is asked for again by and by, less and less often: contracts that could not be read, and transactions that
 * the chain has no answer for. Nobody else waits for it.
 */
import { callBackOff } from './retry.ts'

interface Waiting {
  /** Milliseconds since the epoch, both. */
  readonly since: number
  readonly notBefore: number
  readonly attempts: number
}

export interface RetryList {
  /** Those whose time has come; who waited longest is first. */
  due(now: number): readonly string[]
  /** Whether its time has not come yet. */
  isWaiting(id: string, now: number): boolean
  has(id: string): boolean
  ids(): readonly string[]
  /** Since when it is not there; undefined when it is. */
  since(id: string): number | undefined
  /** True when it is the first time. */
  addFailure(id: string, now: number): boolean
  /** It was not asked for, and is due at once. */
  postpone(id: string, now: number): void
  /** It is there, or nobody asks for it any more. */
  delete(id: string): void
}

/** Nothing waits for longer than `longestMs`. */
export function createRetryList(longestMs: number): RetryList {
  const waiting = new Map<string, Waiting>()
  const notBefore = (id: string): number => waiting.get(id)?.notBefore ?? 0
  return {
    due: (now) => [...waiting.keys()].filter((id) => notBefore(id) <= now),
    isWaiting: (id, now) => notBefore(id) > now,
    has: (id) => waiting.has(id),
    ids: () => [...waiting.keys()],
    since: (id) => waiting.get(id)?.since,
    addFailure: (id, now) => {
      const { since, attempts } = waiting.get(id) ?? { since: now, attempts: 0 }
      // Behind all others, also where it had a place before.
      waiting.delete(id)
      waiting.set(id, {
        since,
        attempts: attempts + 1,
        notBefore: now + Math.min(longestMs, callBackOff(attempts + 1)),
      })
      return attempts === 0
    },
    postpone: (id, now) => {
      if (!waiting.has(id)) waiting.set(id, { since: now, attempts: 0, notBefore: now })
    },
    delete: (id) => void waiting.delete(id),
  }
}
