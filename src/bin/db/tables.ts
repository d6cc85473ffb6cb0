/** Reads the tables of the database of a service, which the service may be using. */
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import type { TableCount, TableReader } from '../../store/tables.ts'
import { refuseMissingFile } from '../embedded-database/file-refusals.ts'
import { withMissingWalKept } from '../embedded-database/generation-file.ts'
import { describeStorageError } from '../embedded-database/storage-advice.ts'

/**
 * Runs `work` with the tables of a database, which a service may be using. Throws a message for the operator if the
 * database does not exist or must not be opened.
 */
export async function withTables<T>(database: DatabaseConfig, work: (reader: TableReader) => Promise<T>): Promise<T> {
  const throwNamed = (error: unknown): never => {
    if (!isOfDriver(error)) throw error
    const advice = hasResultCode(error, 'notADatabase') ? '; name another file, or put back a backup' : ''
    throw new Error(`${describeDatabase(database)}: ${describeStorageError(error)}${advice}`, { cause: error })
  }
  if (database.kind === 'postgresql') {
    const { withPostgresTables } = await import('../../store/postgres-tables.ts')
    return withPostgresTables(database, work).catch(throwNamed)
  }
  refuseMissingFile(database.file)
  const { withSqliteTables } = await import('../../store/sqlite-tables.ts')
  return withMissingWalKept(database.file, () => withSqliteTables(database.file, work)).catch(throwNamed)
}

/** Tests whether an error is one of a database driver, whose messages do not name the database. */
function isOfDriver(error: unknown): boolean {
  return error instanceof Error && ('errcode' in error || error.message.startsWith('PostgreSQL: '))
}

/** Counts the rows of each table. */
export async function countTables(reader: TableReader): Promise<readonly TableCount[]> {
  const counts: TableCount[] = []
  for (const table of reader.tables) counts.push({ table: table.name, rows: await reader.count(table) })
  return counts
}

/** Returns the number of rows of all tables. */
export function sumRows(counts: readonly TableCount[]): number {
  return counts.reduce((sum, { rows }) => sum + rows, 0)
}

/** Returns the time of the newest session or callback in ISO 8601; null if there is none. */
export async function findNewestTime(reader: TableReader): Promise<string | null> {
  let newest = 0
  for (const table of reader.tables) {
    if (table.hasCreationTime) newest = Math.max(newest, await reader.newestTime(table))
  }
  return newest === 0 ? null : new Date(newest).toISOString()
}
