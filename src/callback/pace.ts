/**
 * How fast callbacks go out: when the next attempt at an event is made, and how many are made at once. A receiver that is
 * down is asked now and then by one event at a time, however many wait; a receiver that is well gets them as fast as it takes them.
 */
import { backOffMs, drawFraction } from '../async/back-off.ts'

const RETRY = { firstMs: 5000, longestMs: 60 * 60 * 1000 }
const MOST_AT_ONCE = 16
/** Sessions in a row that fail before the receiver, and not an event, is taken to be the trouble. */
const FAILING_SESSIONS = 3
const PAUSE = { firstMs: 500, longestMs: 5000 }

/**
 * The pause after `failures` failures of an event: drawn between half of the backoff and the whole of it, and at least as
 * long as the receiver's `Retry-After` asks for, within the longest backoff.
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: (bytes: number) => Uint8Array): number {
  const delay = (backOffMs(RETRY, failures) / 2) * (1 + drawFraction(random))
  return Math.round(Math.max(delay, Math.min(retryAfterMs, RETRY.longestMs)))
}

/** What a process knows of the receiver. */
export interface Pace {
  /** Attempts at once. */
  readonly atOnce: number
  /** No attempt before; milliseconds since the epoch. */
  readonly notBefore: number
  /** Sessions that failed since the last success: one that always fails does not slow down the others. */
  readonly failing: readonly string[]
}

export const FIRST_PACE: Pace = { atOnce: 4, notBefore: 0, failing: [] }

export function afterSuccess({ atOnce }: Pace): Pace {
  return { atOnce: Math.min(atOnce * 2, MOST_AT_ONCE), notBefore: 0, failing: [] }
}

export function afterFailure(pace: Pace, sessionId: string, now: Date): Pace {
  const failing = [...new Set([...pace.failing, sessionId])].slice(-MOST_AT_ONCE)
  if (failing.length < FAILING_SESSIONS) return { ...pace, failing }
  const pause = backOffMs(PAUSE, failing.length - FAILING_SESSIONS + 1)
  return { atOnce: 1, notBefore: now.getTime() + pause, failing }
}
