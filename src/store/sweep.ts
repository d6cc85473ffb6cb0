/**
 * Processes rows that are due: a few at a time with pauses, so that a million sessions that end at once do not hold up
 * requests; and a limited number in one call, so that a service can be stopped.
 */
import { setTimeout } from 'node:timers/promises'
import type { Change, DueRow, Store } from './store.ts'

const ROWS_AT_ONCE = 50
const MAX_ROUNDS = 100
const PAUSE_MS = 10
/** The number of failed rows that ends a sweep, as when the disk is full. */
const MAX_FAILED = 500

/** The functions that a sweep calls. */
interface SweepSteps<C, K extends keyof C> {
  /** Returns the changes for a row, which must be conditional on its version, and make it due later or never. */
  readonly changesOf: (row: DueRow<C[K]>) => Promise<readonly Change<C>[]>
  /** Takes the number of deleted rows, also when the sweep fails; not called when there are none. */
  readonly reportDeleted?: (rows: number) => void
}

/**
 * Commits the changes that `changesOf` returns for each row that is due. Each row is a batch of its own: a row that
 * another process changed meanwhile is left for the next round, and does not affect the others. Rejects with the first
 * error after the other rows are processed, or some hundred have failed.
 */
export async function sweep<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
  now: Date,
  { changesOf, reportDeleted }: SweepSteps<C, K>,
): Promise<void> {
  let deletedRows = 0
  const sweepRow = async (row: DueRow<C[K]>): Promise<boolean> => {
    const changes = await changesOf(row)
    const isCommitted = (await store.commit(changes)) === undefined
    if (isCommitted && changes.some((change) => 'delete' in change && change.delete === collection)) deletedRows += 1
    return isCommitted
  }
  try {
    await runRounds((limit) => store.listDue(collection, now, limit), sweepRow)
  } finally {
    if (deletedRows > 0) reportDeleted?.(deletedRows)
  }
}

/**
 * Runs `sweepRow` on the rows of each round, until a round has few rows or no progress. A row that failed stays due,
 * and each later round reads one more row for it.
 */
async function runRounds<Row extends { readonly id: string }>(
  listRows: (limit: number) => Promise<readonly Row[]>,
  sweepRow: (row: Row) => Promise<boolean>,
): Promise<void> {
  const errors = new Map<string, unknown>()
  for (let round = 0; round < MAX_ROUNDS && errors.size < MAX_FAILED; round += 1) {
    const limit = ROWS_AT_ONCE + errors.size
    const rows = await listRows(limit)
    const sweepOrNote = (row: Row): Promise<boolean> =>
      sweepRow(row).catch((error: unknown) => {
        errors.set(row.id, error)
        return true
      })
    const results = await Promise.all(rows.filter(({ id }) => !errors.has(id)).map(sweepOrNote))
    if (rows.length < limit || !results.includes(true)) break
    await setTimeout(PAUSE_MS)
  }
  for (const error of errors.values()) throw error
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
