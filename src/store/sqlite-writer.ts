/**
 * The writer of an SQLite database: batches of statements, each whole or not at all and many with one fsync, and the
 * deletion of what is due. It knows statements alone, so that it can run in a thread of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { makeAsync } from '../async/make-async.ts'
import { applyBatches, type BatchResult } from './sqlite-batches.ts'
import { createLogKeeper, type LogKeeper } from './sqlite-log.ts'
import {
  BUSY_TIMEOUT_MS,
  cacheStatements,
  createTransactionStart,
  inTransaction,
  type Prepare,
} from './sqlite-transaction.ts'
import type { BoundStatement } from './statements.ts'

/** The time for which `tidy` waits for readers; a longer read keeps the log until the next round. */
const TIDY_TIMEOUT_MS = 50
/** The number of rows that one transaction purges; other batches are written between two transactions. */
const PURGED_AT_ONCE = 1000

/** The statements of a commit, which apply all or not at all. */
export interface Batch {
  readonly statements: readonly BoundStatement[]
  /** Whether a change takes personal data or keys away, of which no trace may stay. */
  readonly erases: boolean
}

/** A writer. Its methods reject with the error of SQLite, and then nothing was written. */
export interface SqliteWriter {
  /** Writes the batches in one transaction, and returns the result of each in order. */
  write(batches: readonly Batch[]): Promise<readonly BatchResult[]>
  /** Deletes the rows of a table that are due, and returns how many. `now` is in milliseconds. */
  purge(table: string, now: number): Promise<number>
  /** Moves the log into the file, so that no old copy of a row stays in it. */
  tidy(): Promise<void>
  /** Moves the log into the file, and closes the connection. */
  close(): Promise<void>
}

/** Makes the writer of a connection, which has the schema already. */
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
    close: makeAsync(() => close(database)),
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
    // A round with nothing to do writes nothing, not even how many logs there were.
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

function close(database: DatabaseSync): void {
  // The log has what was replaced since. Another process that still reads keeps it, and that is not a failure.
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.close()
  }
}

/**
 * Makes a function that sets how thoroughly SQLite overwrites replaced and deleted rows. With `fast`, no trace stays
 * in free space of a page, but a page that is freed as a whole is overwritten only when it is used again. With `on`,
 * that page is overwritten at once as well, which for everything would cost a tenth of an issuance.
 */
function createSecureDeleteSetting(database: DatabaseSync): (value: 'fast' | 'on') => void {
  let current: string | undefined
  return (value) => {
    if (value !== current) database.exec(`pragma secure_delete = ${value}`)
    current = value
  }
}
