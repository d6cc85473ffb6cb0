/**
 * The log (WAL) of an SQLite database: counted, so that it is not taken for that of another state, and moved into the
 * file in time.
 */
import type { DatabaseSync } from 'node:sqlite'

/**
 * The number of changes after which the log is moved into the file: some thousand pages, as SQLite would do by itself.
 */
const CHANGES_IN_LOG = 400
/** The most logs that are counted: `user_version` has 32 bits, with a sign. */
const MAX_LOGS = 2 ** 31

/** The keeper of the log that SQLite writes before it writes the file. */
export interface LogKeeper {
  /** Counts the log in the transaction that runs, where that may be the first in a log. */
  countLog(): void
  /** Notes that the log has the transaction in which it was counted. */
  markCounted(): void
  /** Adds `changes` to those in the log, and has the log moved into the file when they are many. */
  addChanges(changes: number): void
  /**
   * Notes that the next transaction may be the first in a log, since the file may have all changes of this one. A log
   * that goes on all the same, because another connection reads it, is counted once more, which does no harm.
   */
  expectNewLog(): void
}

/**
 * Makes the keeper of a log, which counts the logs of the database in its `user_version`, in the first transaction of
 * each: a log that belongs to another state of the file is found before it is read (`bin/database-file.ts`). SQLite
 * begins a log anew only once all of it is in the file, and that happens here alone.
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
        // The file cannot grow, for example: the changes stay in the log, which is as durable.
      }
    },
    expectNewLog,
  }
}
