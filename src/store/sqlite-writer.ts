/**
 * The writer of an SQLite database: writes batches of statements, many with one fsync, and deletes rows that are due.
 * The writer takes SQL statements in place of changes, so that it can run in a thread of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { applyBatches, type BatchResult } from './sqlite-batches.ts'
import { checkpointAndClose, createLogKeeper, type LogKeeper } from './sqlite-log.ts'
import {
  BUSY_TIMEOUT_MS,
  cacheStatements,
  createTransactionStart,
  inTransaction,
  type Prepare,
} from './sqlite-transaction.ts'
import type { BoundStatement } from './statements.ts'

/** The time for which `tidy` waits for readers. When a read takes longer, a later call truncates the log. */
const TIDY_TIMEOUT_MS = 50
/** The most rows that one transaction purges; other batches are written between two transactions. */
const PURGED_AT_ONCE = 1000

/** The statements of one commit, which apply completely or not at all. */
export interface Batch {
  readonly statements: readonly BoundStatement[]
  /** Whether a change removes personal data or keys, so that freed pages of the file are overwritten at once. */
  readonly erases: boolean
}

/** A writer. Its methods reject with the error of SQLite, and then nothing was written. */
export interface SqliteWriter {
  /** Writes the batches in one transaction, and returns the result of each in order. */
  write(batches: readonly Batch[]): Promise<readonly BatchResult[]>
  /** Deletes the rows of a table that are due, and returns their number. `now` is in milliseconds. */
  purge(table: string, now: number): Promise<number>
  /** Checkpoints and truncates the log, so that no old copy of a row stays in it. */
  tidy(): Promise<void>
  /** Checkpoints and truncates the log, and closes the connection. */
  close(): Promise<void>
}

/** Makes a writer on a connection whose schema is up to date. */
export function createWriter(database: DatabaseSync): SqliteWriter {
  const prepare = cacheStatements(database)
  const setSecureDelete = createSecureDeleteSetting(database)
  setSecureDelete('fast')
  const log = createLogKeeper(database)
  const begin = createTransactionStart(database)
  return {
    write: makeAsync((batches: readonly Batch[]) => {
      setSecureDelete(batches.some(({ erases }) => erases) ? 'on' : 'fast')
      const statements = batches.map((batch) => batch.statements)
      const results = applyBatches(prepare, statements, (applyAll) =>
        inTransaction(database, begin, () => {
          log.countLog()
          return applyAll()
        }),
      )
      log.markCounted()
      log.addChanges(statements.reduce((sum, { length }) => sum + length, 0))
      return results
    }),
    purge: (table, now) => purge({ database, prepare, log, begin }, table, now),
    tidy: makeAsync(() => {
      tidy(database)
      log.expectNewLog()
    }),
    close: makeAsync(() => checkpointAndClose(database)),
  }
}

interface PurgeContext {
  readonly database: DatabaseSync
  readonly prepare: Prepare
  readonly log: LogKeeper
  readonly begin: () => void
}

async function purge({ database, prepare, log, begin }: PurgeContext, table: string, now: number): Promise<number> {
  const isDue = `select 1 from ${table} where due_at <= ? limit 1`
  const sql = `delete from ${table} where rowid in (select rowid from ${table} where due_at <= ? limit ?)`
  for (let purgedRows = 0; ; ) {
    // When no row is due, nothing is written, not even the count of logs.
    if (prepare(isDue).get(now) === undefined) return purgedRows
    const changes = inTransaction(database, begin, () => {
      log.countLog()
      return Number(prepare(sql).run(now, PURGED_AT_ONCE).changes)
    })
    purgedRows += changes
    log.markCounted()
    log.addChanges(changes)
    if (changes < PURGED_AT_ONCE) return purgedRows
    await setImmediate()
  }
}

function tidy(database: DatabaseSync): void {
  database.exec(`pragma busy_timeout = ${TIDY_TIMEOUT_MS}`)
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/**
 * Makes a function that sets how SQLite overwrites replaced and deleted rows (`pragma secure_delete`). With `fast`,
 * free space within a page is overwritten, but a page that becomes free is overwritten only when it is used again. With
 * `on`, such a page is overwritten at once as well; for all writes this would cost a tenth of an issuance.
 */
function createSecureDeleteSetting(database: DatabaseSync): (value: 'fast' | 'on') => void {
  let current: string | undefined
  return (value) => {
    if (value !== current) database.exec(`pragma secure_delete = ${value}`)
    current = value
  }
}

/** Wraps a synchronous function in one that returns a promise, which rejects when `run` throws. */
export function makeAsync<Args extends readonly unknown[], T>(
  run: (...args: Args) => T,
): (...args: Args) => Promise<T> {
  return (...args) => new Promise((resolve) => resolve(run(...args)))
}
