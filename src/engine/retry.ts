/** When what failed, or met what is full, is tried again. */

/** A call that fails so often is given up: a hook until its contract changes again, a timer for good. */
export const MOST_CALL_ATTEMPTS = 8

/** What is full now is tried again after so long, however often it was: by the engine itself, and by whoever asks it. */
export const FULL_SECONDS = 10

const BACK_OFF_MS = 1000
const LONGEST_BACK_OFF_MS = 300_000

/** Milliseconds, after so many attempts that failed. */
export function callBackOff(attempts: number): number {
  return Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.max(0, attempts - 1))
}

export function retryWhenFull(now: Date): Date {
  return new Date(now.getTime() + FULL_SECONDS * 1000)
}

/** When a call that met what passes by itself is to be made again. That is no attempt that failed. */
export function retryAt({ until }: { readonly kind: string; readonly until?: Date | undefined }): number | undefined {
  return until?.getTime()
}
