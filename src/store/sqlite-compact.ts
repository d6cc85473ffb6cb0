/** Rewrites a database file of SQLite without what is unused in it. docs/decisions/0010-generations.md. */
import { loadDriver, originOf, updateOrigin } from './sqlite.ts'

const BUSY_TIMEOUT_MS = 500

/**
 * Rewrites the file, and notes its new origin before anybody else can read that, so that it is not taken for a copy.
 * Rejects while another process has the file open. A process that ends in between leaves it looking like a copy.
 */
export async function compactSqlite(file: string): Promise<void> {
  const database = new (await loadDriver())(file)
  try {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    // A log can be given up only by the one that has the file open.
    database.exec('pragma journal_mode = delete')
    database.exec('pragma synchronous = full')
    // The lock of this transaction is kept until the file is closed.
    database.exec('pragma locking_mode = exclusive')
    database.exec('begin exclusive')
    database.exec('commit')
    const before = originOf((sql) => database.prepare(sql))
    database.exec('vacuum')
    updateOrigin(database, before)
    // The next transaction gives back the lock, which a closed connection can keep until its statements are collected.
    database.exec('pragma locking_mode = normal')
    database.exec('select count(*) from sqlite_master')
  } finally {
    database.close()
  }
}
