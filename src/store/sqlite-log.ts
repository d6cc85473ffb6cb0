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
const MOST_LOGS = 2 ** 31

/** The keeper of the log that SQLite writes before it writes the file. */
export interface LogKeeper {
  /** Counts the log within the next transaction, which may be the first in a log. */
  begin(): void
  /** Notes that the log has that transaction. */
  begun(): void
  /** Adds `changes` to those in the log, and has the log moved into the file when they are many. */
  written(changes: number): void
  /** Notes that all that was in the log is in the file. */
  emptied(): void
}

/**
 * Makes the keeper of a log, which counts the logs of the database in its `user_version`, in the first transaction of
 * each: so a log that belongs to another state of the file is told before it is read (`bin/database-file.ts`). SQLite
 * begins a log anew only once all of it is in the file, and that happens here alone.
 */
export function logKeeper(database: DatabaseSync): LogKeeper {
  let isFirst = true
  let changesInLog = 0
  const emptied = (): void => {
    isFirst = true
    changesInLog = 0
  }
  return {
    begin: () => {
      if (!isFirst) return
      const logs = Number(database.prepare('pragma user_version').get()?.user_version)
      database.exec(`pragma user_version = ${(logs + 1) % MOST_LOGS}`)
    },
    begun: () => {
      isFirst = false
    },
    written: (changes) => {
      changesInLog += changes
      if (changesInLog < CHANGES_IN_LOG) return
      changesInLog = 0
      try {
        const moved = database.prepare('pragma wal_checkpoint(passive)').get()
        if (moved?.busy === 0 && moved.log === moved.checkpointed) emptied()
      } catch {
        // The file has no room, say: what was written is in the log all the same, and stays there.
      }
    },
    emptied,
  }
}
