/**
 * How fast callbacks go out: when the next attempt at an event is made, and how many are made at once. A receiver that is
 * down is asked now and then by one event at a time, however many wait; a receiver that is well gets them as fast as it takes them.
 */

const FIRST_DELAY_MS = 5000
const LONGEST_DELAY_MS = 60 * 60 * 1000
const MOST_AT_ONCE = 16
/** Sessions in a row that fail before the receiver, and not an event, is taken to be the trouble. */
const FAILING_SESSIONS = 3
const LONGEST_PAUSE_MS = 5000

/** How long to wait after so many failures of an event; between half of a time that doubles and the whole of it. */
export function retryDelayMs(failures: number, retryAfterMs: number, random: (bytes: number) => Uint8Array): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20), LONGEST_DELAY_MS)
  const [high = 0, low = 0] = random(2)
  const delay = (longest / 2) * (1 + (high * 256 + low) / 65_536)
  return Math.round(Math.max(delay, Math.min(retryAfterMs, LONGEST_DELAY_MS)))
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
  const pause = Math.min(500 * 2 ** (failing.length - FAILING_SESSIONS), LONGEST_PAUSE_MS)
  return { atOnce: 1, notBefore: now.getTime() + pause, failing }
}
