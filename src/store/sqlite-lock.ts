/**
 * The lock of a process on a database file: an exclusive transaction on an empty file beside it. The operating system
 * releases the locks of SQLite when the process ends.
 */
import type { ProcessLock } from './process-lock.ts'
import { loadDriver } from './sqlite.ts'
import { beginTransaction, isBusy } from './sqlite-transaction.ts'

/** Takes the lock. Waits some seconds for another process that has it, and then returns undefined. */
export async function lockSqlite(file: string): Promise<ProcessLock | undefined> {
  const Database = await loadDriver()
  const database = new Database(`${file}-lock`)
  try {
    beginTransaction(database, 'exclusive')
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return {
    keep: () => Promise.resolve(),
    release: () => {
      database.close()
      return Promise.resolve()
    },
  }
}
