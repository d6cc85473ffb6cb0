/**
 * The lock of a process on a database file: an exclusive transaction on a file beside it, which has no content. The
 * operating system ends the locks of SQLite with the process.
 */
import type { ProcessLock } from './process-lock.ts'
import { loadDriver } from './sqlite.ts'
import { beginTransaction, isBusy } from './sqlite-transaction.ts'

/** Takes the lock, or returns undefined when another process has it and does not end within some seconds. */
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
