/** Compacts a database file of SQLite (VACUUM). docs/decisions/0010-generations.md. */
import { loadDriver } from './sqlite.ts'
import { originOf, updateOrigin } from './sqlite-origin.ts'

const LOCK_TIMEOUT_MS = 500

/**
 * Rewrites the file without its unused pages, and stores its new origin before another process can read it, so that the
 * file is not taken for a copy. Rejects while another process has the file open. When this process is killed between
 * the two steps, the file is taken for a copy.
 */
export async function compactSqlite(file: string): Promise<void> {
  const database = new (await loadDriver())(file)
  try {
    database.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`)
    // Without space for the log of a killed service, leaving WAL mode would fail as if the database were locked.
    database.exec('pragma wal_checkpoint(truncate)')
    // SQLite leaves WAL mode only for a connection that has the file to itself.
    database.exec('pragma journal_mode = delete')
    database.exec('pragma synchronous = full')
    // In this mode the lock of the transaction is kept after its end.
    database.exec('pragma locking_mode = exclusive')
    database.exec('begin exclusive')
    database.exec('commit')
    const before = originOf((sql) => database.prepare(sql))
    database.exec('vacuum')
    updateOrigin(database, before)
    // The next transaction releases the lock. Otherwise a closed connection can keep it until its statements are
    // garbage-collected.
    database.exec('pragma locking_mode = normal')
    database.exec('select count(*) from sqlite_master')
  } finally {
    database.close()
  }
}
