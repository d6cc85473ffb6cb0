/**
 * The writer of an SQLite database: writes batches of statements, many with one fsync, and deletes rows that are due.
 * The writer takes SQL statements in place of changes, so that it can run in a thread of its own. It counts the
 * write-ahead logs (WAL), so that a log of another state of the file is detected, and checkpoints a log that has grown.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type ErrorProperties, readErrorProperties } from '../thread/error-properties.ts'
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

/** The error that rolls a transaction back because one batch applied only in part. */
class PartialBatchError extends Error {}

/**
 * The result of a batch: the index of the first statement that did not apply (undefined when all did), or the error of
 * a statement.
 */
type BatchResult = { readonly conflict: number | undefined } | { readonly error: ErrorProperties }

/**
 * Applies the batches in one transaction, each completely or not at all. Batches that apply in part are rare, so the
 * first transaction sets no savepoints. When a batch applies in part, that transaction is rolled back, and a second one
 * sets a savepoint for each batch.
 */
function applyBatches(
  prepare: Prepare,
  batches: readonly (readonly BoundStatement[])[],
  transact: (applyAll: () => readonly BatchResult[]) => readonly BatchResult[],
): readonly BatchResult[] {
  try {
    return transact(() => batches.map((batch) => applyWhole(prepare, batch)))
  } catch (error) {
    if (!(error instanceof PartialBatchError)) throw error
    return transact(() => batches.map((batch) => applyWithSavepoint(prepare, batch)))
  }
}

/**
 * Applies a batch without a savepoint. Throws a PartialBatchError when a statement fails, or does not apply after
 * others of the batch did.
 */
function applyWhole(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  for (const [index, statement] of batch.entries()) {
    if (applyOrThrowPartial(prepare, statement)) continue
    if (index > 0) throw new PartialBatchError()
    return { conflict: index }
  }
  return { conflict: undefined }
}

/** Applies a statement. Throws a PartialBatchError when the statement fails. */
function applyOrThrowPartial(prepare: Prepare, statement: BoundStatement): boolean {
  try {
    return applyStatement(prepare, statement)
  } catch (cause) {
    throw new PartialBatchError('a change cannot be applied', { cause })
  }
}

/** Applies a batch after a savepoint, and rolls back to the savepoint when a statement fails or does not apply. */
function applyWithSavepoint(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  prepare('savepoint batch').run()
  try {
    const conflict = batch.findIndex((statement) => !applyStatement(prepare, statement))
    if (conflict === -1) return { conflict: undefined }
    prepare('rollback to batch').run()
    return { conflict }
  } catch (error) {
    // When SQLite has ended the transaction by itself, as on a full disk, this throws, and the whole transaction fails.
    prepare('rollback to batch').run()
    return { error: readErrorProperties(error) }
  } finally {
    prepare('release batch').run()
  }
}

/** Tests whether a statement applied to its row. */
function applyStatement(prepare: Prepare, [sql, ...values]: BoundStatement): boolean {
  return prepare(sql).run(...values).changes === 1
}

/**
 * The number of changes after which the log is checkpointed: some thousand pages, as in SQLite's automatic checkpoints.
 */
const CHANGES_IN_LOG = 400
/** The count of logs starts again at this number: `user_version` is a signed integer of 32 bits. */
const MAX_LOGS = 2 ** 31

/** The functions that a writer calls around each transaction to count and checkpoint the write-ahead log. */
interface LogKeeper {
  /** Increments the count of logs within the current transaction, if that may be the first transaction of a log. */
  countLog(): void
  /** Notes that the transaction that called `countLog` was committed. */
  markCounted(): void
  /** Adds to the number of changes in the log, and checkpoints the log when there are many. */
  addChanges(changes: number): void
  /**
   * Notes that the next transaction may be the first of a new log, because the file may have all changes of this log.
   * If the log continues nevertheless, because another connection reads it, it is counted twice, which is harmless.
   */
  expectNewLog(): void
}

/**
 * Moves the log, which has old copies of rows, into the file, and closes the database. The log stays while another
 * connection reads it, and when the disk is full or read-only; it is as durable as the file.
 */
export function checkpointAndClose(database: DatabaseSync): void {
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // SQLite moves the log with a later checkpoint.
  }
  database.close()
}

/**
 * Makes the keeper of a database's log. It stores the count of logs in `user_version`, in the first transaction of each
 * log, so that a log of another state of the file is detected before it is read
 * (`bin/embedded-database/database-file.ts`). SQLite begins a new log only after the whole log is in the file, and only
 * keepers and `tidy` of writers checkpoint. Each process that shares the file has a keeper, which knows the checkpoints
 * of its own process: a log that another process begins after one of them may be counted late.
 */
function createLogKeeper(database: DatabaseSync): LogKeeper {
  let isFirst = true
  let changesInLog = 0
  const expectNewLog = (): void => {
    isFirst = true
    changesInLog = 0
  }
  return {
    countLog: () => {
      if (!isFirst) return
      const logs = Number(database.prepare('pragma user_version').get()?.user_version)
      database.exec(`pragma user_version = ${(logs + 1) % MAX_LOGS}`)
    },
    markCounted: () => {
      isFirst = false
    },
    addChanges: (changes) => {
      changesInLog += changes
      if (changesInLog < CHANGES_IN_LOG) return
      changesInLog = 0
      try {
        const checkpoint = database.prepare('pragma wal_checkpoint(passive)').get()
        if (checkpoint?.busy === 0 && checkpoint.log === checkpoint.checkpointed) expectNewLog()
      } catch {
        // The checkpoint fails when the file cannot grow, for example. The changes stay in the log, which is as
        // durable.
      }
    },
    expectNewLog,
  }
}
