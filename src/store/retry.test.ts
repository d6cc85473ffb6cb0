import { describe, expect, it } from 'vitest'
import { type Attempt, ConflictError, createRetryOnConflict, MAX_ATTEMPTS } from './retry.ts'

/** Makes a retry whose pauses are written down, each drawn as `share` of the longest. */
function recordedRetry(share: number) {
  const pauses: number[] = []
  const counts = { retried: 0, givenUp: 0 }
  const retryOnConflict = createRetryOnConflict({
    random: () => Uint8Array.of(share * 256, 0),
    wait: (milliseconds) => Promise.resolve(pauses.push(milliseconds)),
    counts,
  })
  return { pauses, counts, retryOnConflict }
}

const conflict: Attempt<string> = { conflict: {} }

/** Makes an attempt that conflicts so often before it commits. */
function committedAfter(conflicts: number): () => Promise<Attempt<string>> {
  let left = conflicts
  return () => Promise.resolve(left-- > 0 ? conflict : { committed: 'done' })
}

describe('retry on conflict', () => {
  it('gives what the first attempt committed, without a pause', async () => {
    const { pauses, counts, retryOnConflict } = recordedRetry(0.5)
    expect(await retryOnConflict(committedAfter(0))).toBe('done')
    expect([pauses, counts]).toEqual([[], { retried: 0, givenUp: 0 }])
  })

  it('tries anew after a pause that is drawn from twice as much each time, up to a quarter of a second', async () => {
    const { pauses, counts, retryOnConflict } = recordedRetry(0.5)
    expect(await retryOnConflict(committedAfter(9))).toBe('done')
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 125, 125])
    expect(counts).toEqual({ retried: 9, givenUp: 0 })
  })

  it('commits in the last attempt, and gives up after it', async () => {
    const { counts, retryOnConflict } = recordedRetry(0)
    expect(await retryOnConflict(committedAfter(MAX_ATTEMPTS - 1))).toBe('done')
    await expect(retryOnConflict(committedAfter(MAX_ATTEMPTS))).rejects.toThrow(ConflictError)
    expect(counts).toEqual({ retried: 2 * (MAX_ATTEMPTS - 1), givenUp: 1 })
  })

  it('does not do anew what was refused', async () => {
    const { counts, retryOnConflict } = recordedRetry(0)
    await expect(retryOnConflict(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(counts).toEqual({ retried: 0, givenUp: 0 })
  })
})
