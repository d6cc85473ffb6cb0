/**
 * The pace of deliveries: when an event is tried again, and how many deliveries run at once. A receiver that is down
 * gets one request at a time with pauses, however many events wait; a receiver that is up gets them as fast as it
 * accepts them.
 */
import { backOffMs, drawFraction } from '../async/back-off.ts'

const RETRY = { firstMs: 5000, longestMs: 60 * 60 * 1000 }
const MAX_AT_ONCE = 16
/** The number of sessions that fail in a row before the receiver, and not a single event, counts as the cause. */
const FAILING_SESSIONS = 3
const PAUSE = { firstMs: 500, longestMs: 5000 }

/**
 * Returns the pause after `failures` failures of an event: between half of the backoff and the whole of it, at random,
 * and at least the `Retry-After` of the receiver, up to the longest backoff.
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: (bytes: number) => Uint8Array): number {
  const delay = (backOffMs(RETRY, failures) / 2) * (1 + drawFraction(random))
  return Math.round(Math.max(delay, Math.min(retryAfterMs, RETRY.longestMs)))
}

/** The pace of deliveries of one process, which its last deliveries determine. */
export interface Pace {
  /** The most deliveries at once. */
  readonly atOnce: number
  /** The time before which no delivery starts; milliseconds since the epoch. */
  readonly notBefore: number
  /**
   * The sessions that failed since the last success. Each session counts once, so that one that always fails does not
   * slow down the others.
   */
  readonly failing: readonly string[]
}

export const FIRST_PACE: Pace = { atOnce: 4, notBefore: 0, failing: [] }

/**
 * Tests whether deliveries pause. A pause that is longer than the longest one was set before the clock was set back,
 * and is ignored.
 */
export function isPausing({ notBefore }: Pace, now: Date): boolean {
  const remainingMs = notBefore - now.getTime()
  return remainingMs > 0 && remainingMs <= PAUSE.longestMs
}

/** Returns the pace after a success: twice as many deliveries at once, up to a limit. */
export function paceAfterSuccess({ atOnce }: Pace): Pace {
  return { atOnce: Math.min(atOnce * 2, MAX_AT_ONCE), notBefore: 0, failing: [] }
}

/**
 * Returns the pace after a failure of the session. Once several sessions have failed, only one delivery runs at a time,
 * after a pause.
 */
export function paceAfterFailure(pace: Pace, sessionId: string, now: Date): Pace {
  const failing = [...new Set([...pace.failing, sessionId])].slice(-MAX_AT_ONCE)
  if (failing.length < FAILING_SESSIONS) return { ...pace, failing }
  const pause = backOffMs(PAUSE, failing.length - FAILING_SESSIONS + 1)
  return { atOnce: 1, notBefore: now.getTime() + pause, failing }
}
