/**
 * A list of failed requests to the chain, which are repeated with growing pauses: for contracts that could not be read,
 * and transactions that could not be signed. Other work does not wait for them.
 */
import { callBackOffMs } from './retry.ts'

interface RetryEntry {
  /** The time of the first failure, in milliseconds of the clock of the caller. */
  readonly since: number
  /** The earliest time of the next attempt, by the same clock. */
  readonly notBefore: number
  readonly attempts: number
}

export interface RetryList {
  /** Returns the ids whose next attempt is due, the one that has waited longest first. */
  listDue(now: number): readonly string[]
  /** Tests whether the next attempt for the id is not due yet. */
  isWaiting(id: string, now: number): boolean
  has(id: string): boolean
  listIds(): readonly string[]
  /** Returns the time of the first failure; undefined when the id is not in the list. */
  getFirstFailure(id: string): number | undefined
  /** Records a failure, and returns whether it is the first of the id. */
  addFailure(id: string, now: number): boolean
  /** Adds an id that was not tried for lack of time. Its attempt is due at once. */
  postpone(id: string, now: number): void
  /** Removes an id that succeeded, or that is not needed any more. */
  delete(id: string): void
}

/** Makes an empty list. A pause has at most `longestMs` milliseconds. */
export function createRetryList(longestMs: number): RetryList {
  const waiting = new Map<string, RetryEntry>()
  const nextAttemptAt = (id: string): number => waiting.get(id)?.notBefore ?? 0
  return {
    listDue: (now) => [...waiting.keys()].filter((id) => nextAttemptAt(id) <= now),
    isWaiting: (id, now) => nextAttemptAt(id) > now,
    has: (id) => waiting.has(id),
    listIds: () => [...waiting.keys()],
    getFirstFailure: (id) => waiting.get(id)?.since,
    addFailure: (id, now) => {
      const { since, attempts } = waiting.get(id) ?? { since: now, attempts: 0 }
      // The id moves to the end of the list.
      waiting.delete(id)
      waiting.set(id, {
        since,
        attempts: attempts + 1,
        notBefore: now + Math.min(longestMs, callBackOffMs(attempts + 1)),
      })
      return attempts === 0
    },
    postpone: (id, now) => {
      if (!waiting.has(id)) waiting.set(id, { since: now, attempts: 0, notBefore: now })
    },
    delete: (id) => void waiting.delete(id),
  }
}
