/**
 * Processes rows that are due: a few at a time with pauses, so that a million sessions that end at once do not hold up
 * requests; and a limited number in one call, so that a service can be stopped.
 */
import { setTimeout } from 'node:timers/promises'
import type { Change, DueRow, Store } from './store.ts'

/** The part of a log that takes the number of deleted sessions. */
interface PurgeLog {
  info(line: { readonly event: string; readonly sessions: number }, text: string): void
}

const ROWS_AT_ONCE = 50
const MAX_ROUNDS = 100
const PAUSE_MS = 10

/**
 * Commits the changes that `changesOf` returns for each row that is due. Each row is a batch of its own: a row that
 * another process changed meanwhile is left for the next round, and does not affect the others. The changes must be
 * conditional on the version of the row, and must make it due later or never. Returns how many of the rows were
 * deleted. Rejects with the first error after the other rows of the round are processed.
 */
export async function sweep<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
  now: Date,
  changesOf: (row: DueRow<C[K]>) => Promise<readonly Change<C>[]>,
): Promise<number> {
  let deletedRows = 0
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const rows = await store.listDue(collection, now, ROWS_AT_ONCE)
    const results = await Promise.allSettled(
      rows.map(async (row) => {
        const changes = await changesOf(row)
        const isCommitted = (await store.commit(changes)) === undefined
        if (isCommitted && changes.some((change) => 'delete' in change && change.delete === collection))
          deletedRows += 1
        return isCommitted
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const hasProgress = results.some((result) => result.status === 'fulfilled' && result.value)
    if (rows.length < ROWS_AT_ONCE || !hasProgress) break
    await setTimeout(PAUSE_MS)
  }
  return deletedRows
}

/** Logs the number of sessions that a sweep has deleted, unless it is none. */
export function logPurgedSessions(log: PurgeLog, sessions: number): void {
  if (sessions > 0) log.info({ event: 'sessions_purged', sessions }, 'sessions were deleted, as their time was over')
}

/** A time that is longer than any request runs, plus the difference between the clocks of two processes. */
const MARGIN_MS = 10 * 60_000

/**
 * Deletes the records of single-use values ten minutes after they are due. A request that began before may still use
 * such a value a second time, and only the record refuses it.
 */
export async function purgeSpent<C>(
  store: Pick<Store<C>, 'purge'>,
  collection: keyof C & string,
  now: Date,
): Promise<void> {
  await store.purge(collection, new Date(now.getTime() - MARGIN_MS))
}
