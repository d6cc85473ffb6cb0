/** The times at which the engine repeats a call that failed, or that met a full queue or a full quota. */
import { backOffMs } from '../async/back-off.ts'
import { CALL_RETRY } from '../component/runtime.ts'

/** The number of failures after which a call is given up: a hook until its contract changes again, a timer for good. */
export const MAX_CALL_ATTEMPTS = CALL_RETRY.maxAttempts

/** The pause before another attempt when a queue or a quota is full, for the engine itself and for its clients. */
export const FULL_SECONDS = 10

/** The longest pause after an attempt that does not count, because the component is not to blame for its end. */
export const LONGEST_UNCOUNTED_MS = 15_000

/** Returns the pause in milliseconds after a number of failed attempts of a call. */
export function callBackOffMs(attempts: number): number {
  return backOffMs(CALL_RETRY, attempts)
}

/** Returns the pause in milliseconds after a number of attempts in a row that do not count. */
export function uncountedPauseMs(attempts: number): number {
  return Math.min(LONGEST_UNCOUNTED_MS, callBackOffMs(attempts))
}

/** Returns the time at which to repeat a call that met a full queue or quota. */
export function retryTimeWhenFull(now: Date): Date {
  return new Date(now.getTime() + FULL_SECONDS * 1000)
}
