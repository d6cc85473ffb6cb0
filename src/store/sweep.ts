/**
 * Processes and purges the rows that are due: a few at a time, with a pause in between, so that a million sessions that
 * end at once do not hold up requests; and not all in one call, so that a service can be stopped.
 */
import { setTimeout } from 'node:timers/promises'
import type { Change, DueRow, Store } from './store.ts'

const ROWS_AT_ONCE = 50
const MAX_ROUNDS = 100
const PAUSE_MS = 10

/**
 * Commits the changes that `changesOf` returns for each row that is due: each row by itself, so that a row that
 * another process has changed meanwhile waits for the next round and does not affect the others. The changes of a
 * row must be conditional on its version, and make it due later or not at all. Rejects with the first failure, when the
 * others are done.
 */
export async function sweep<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
  now: Date,
  changesOf: (row: DueRow<C[K]>) => Promise<readonly Change<C>[]>,
): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const rows = await store.listDue(collection, now, ROWS_AT_ONCE)
    const results = await Promise.allSettled(
      rows.map(async (row) => (await store.commit(await changesOf(row))) === undefined),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const hasProgress = results.some((result) => result.status === 'fulfilled' && result.value)
    if (rows.length < ROWS_AT_ONCE || !hasProgress) return
    await setTimeout(PAUSE_MS)
  }
}

/** A time longer than any request runs, and than the clocks of two processes differ. */
const MARGIN_MS = 10 * 60_000

/**
 * Deletes rows that say that something was used up, ten minutes after they are due: a request that came before may
 * still be about to spend the same, and the row is what refuses the request.
 */
export async function purgeSpent<C>(
  store: Pick<Store<C>, 'purge'>,
  collection: keyof C & string,
  now: Date,
): Promise<void> {
  await store.purge(collection, new Date(now.getTime() - MARGIN_MS))
}
