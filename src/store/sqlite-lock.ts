/**
 * The locks of a process on an SQLite database: a transaction on an empty file beside it. The operating system releases
 * the locks of SQLite when the process ends.
 */

import { loadDriver } from './sqlite.ts'
import { hasResultCode } from './sqlite-error.ts'
import { BUSY_TIMEOUT_MS, beginTransaction } from './sqlite-transaction.ts'
import type { ProcessLock } from './store.ts'

/** Takes the lock. Waits some seconds for another process that has it, and then returns undefined. */
export async function lockSqlite(file: string): Promise<ProcessLock | undefined> {
  const release = await lockFile(`${file}-lock`, 'exclusive')
  if (release === undefined) return undefined
  return {
    keep: () => Promise.resolve(true),
    release: () => {
      release()
      return Promise.resolve()
    },
  }
}

/**
 * Takes a lock on an empty file, which is made if it does not exist. An `immediate` lock allows readers of the file.
 * Returns the function that releases the lock; undefined if other processes have the file locked for `patienceMs`.
 */
export async function lockFile(
  file: string,
  kind: 'immediate' | 'exclusive',
  patienceMs = BUSY_TIMEOUT_MS,
): Promise<(() => void) | undefined> {
  const Database = await loadDriver()
  const database = new Database(file)
  try {
    beginTransaction(database, kind, patienceMs)
  } catch (error) {
    database.close()
    if (hasResultCode(error, 'busy')) return undefined
    throw error
  }
  return () => database.close()
}
