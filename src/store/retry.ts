/**
 * Optimistic concurrency: work reads rows, and commits on condition that nobody has changed them meanwhile. Where
 * somebody has, the work is done again after a pause, a bounded number of times. The calls of an engine wait in the
 * queue of their contract instead (`engine/perform.ts`).
 */
import { type BackOff, backOffMs, drawFraction } from '../async/back-off.ts'

/** The end of one attempt: its result, which is committed, or the change whose condition did not hold. */
export type Attempt<T> = { readonly committed: T } | { readonly conflict: object }

/** Does the attempt until it commits. Throws a {@link ConflictError} after {@link MAX_ATTEMPTS} conflicts. */
export type RetryOnConflict = <T>(attempt: () => Promise<Attempt<T>>) => Promise<T>

export interface RetryEffects {
  readonly random: (bytes: number) => Uint8Array
  /** Resolves after so many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<unknown>
  readonly counts: ConflictCounts
}

/**
 * Conflicts since the process began: those after which the work was done anew, and those after which it was given up.
 */
export interface ConflictCounts {
  retried: number
  givenUp: number
}

export const MAX_ATTEMPTS = 20
/** The longest pause before each attempt; each pause is drawn anew, so that those who met once do not meet again. */
const MAX_PAUSE: BackOff = { firstMs: 2, longestMs: 250 }

/** The error for rows that others changed during every attempt; nothing of the work is stored. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'

  constructor() {
    super(`the rows were changed by others ${MAX_ATTEMPTS} times in a row`)
  }
}

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
