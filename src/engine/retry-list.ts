/**
 * A list of failed questions that are asked again with growing pauses: contracts that could not be read, and
 * transactions that the chain has no answer for. Other work does not wait for them.
 */
import { callBackOff } from './retry.ts'

interface Waiting {
  /** Milliseconds since the epoch, both. */
  readonly since: number
  readonly notBefore: number
  readonly attempts: number
}

export interface RetryList {
  /** Returns the ids whose time has come; the one that waited longest is first. */
  due(now: number): readonly string[]
  /** Tests whether the time of the id has not come yet. */
  isWaiting(id: string, now: number): boolean
  has(id: string): boolean
  ids(): readonly string[]
  /** Returns the time of the first failure; undefined without a failure. */
  since(id: string): number | undefined
  /** Adds a failure, and returns whether it is the first. */
  addFailure(id: string, now: number): boolean
  /** Adds an id that was not asked for, and that is due at once. */
  postpone(id: string, now: number): void
  /** Removes an id whose question is answered, or of no use any more. */
  delete(id: string): void
}

/** Makes a list of what waits for another attempt; no pause is longer than `longestMs`. */
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
