/**
 * The write-ahead log (WAL) of an SQLite database. Logs are counted, so that a log of another state of the file is
 * detected, and a log that has grown is checkpointed (copied into the file).
 */
import type { DatabaseSync } from 'node:sqlite'

/**
 * The number of changes after which the log is checkpointed: some thousand pages, as in SQLite's automatic checkpoints.
 */
const CHANGES_IN_LOG = 400
/** The count of logs starts again at this number: `user_version` is a signed integer of 32 bits. */
const MAX_LOGS = 2 ** 31

/** The functions that a writer calls around each transaction to count and checkpoint the write-ahead log. */
export interface LogKeeper {
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
 * log, so that a log of another state of the file is detected before it is read (`bin/database-file.ts`). SQLite begins
 * a new log only after the whole log is in the file, and only this keeper and `tidy` of the writer checkpoint.
 */
export function createLogKeeper(database: DatabaseSync): LogKeeper {
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
