/**
 * Optimistic concurrency control: an attempt reads rows, and commits on condition that they have not changed since.
 * After a conflict the attempt is repeated, after a pause and a limited number of times. Calls of an engine are not
 * repeated this way; they wait in the queue of their contract (`engine/perform.ts`).
 */
import { type BackOff, backOffMs, drawFraction } from '../async/back-off.ts'

/** The outcome of one attempt: its result, which is committed, or the change whose condition did not hold. */
export type Attempt<T> = { readonly committed: T } | { readonly conflict: object }

/**
 * Repeats the attempt until it commits, and returns its result. Throws a {@link ConflictError} after {@link
 * MAX_ATTEMPTS} conflicts.
 */
export type RetryOnConflict = <T>(attempt: () => Promise<Attempt<T>>) => Promise<T>

export interface RetryEffects {
  readonly random: (bytes: number) => Uint8Array
  /** Resolves after that time. */
  readonly wait: (milliseconds: number) => Promise<unknown>
  readonly counts: ConflictCounts
}

/**
 * The numbers of conflicts since the process began: those after which the attempt was repeated, and those after which
 * it was given up.
 */
export interface ConflictCounts {
  retried: number
  givenUp: number
}

export const MAX_ATTEMPTS = 20
/**
 * The backoff between attempts. The pause is a random fraction of it, so that attempts that conflicted once do not
 * conflict again.
 */
const MAX_PAUSE: BackOff = { firstMs: 2, longestMs: 250 }

/** The error of an attempt that conflicted every time. Nothing of it is stored. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'

  constructor() {
    super(`the rows were changed by others ${MAX_ATTEMPTS} times in a row`)
  }
}

/** Makes the function that repeats an attempt after a conflict, and counts the conflicts. */
export function createRetryOnConflict({ random, wait, counts }: RetryEffects): RetryOnConflict {
  return async (attempt) => {
    for (let attempts = 1; ; attempts += 1) {
      const result = await attempt()
      if ('committed' in result) return result.committed
      if (attempts === MAX_ATTEMPTS) {
        counts.givenUp += 1
        throw new ConflictError()
      }
      counts.retried += 1
      await wait(backOffMs(MAX_PAUSE, attempts) * drawFraction(random))
    }
  }
}
