/** Checks whether a service can open its database, without changing anything. */
import { accessSync, constants, existsSync, lstatSync } from 'node:fs'
import type { DatabaseConfig, readDatabase } from '../../config/database.ts'
import { loadDriver } from '../../store/sqlite.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { checkpointAndClose } from '../../store/sqlite-writer.ts'
import { selectMissingMigrations } from '../../store/statements.ts'
import type { Migration } from '../../store/store.ts'
import { findFileProblem, isUsableFile } from '../embedded-database/database-file.ts'
import { isWalMissing, WAL_MISSING, withClosingNoted } from '../embedded-database/generation-file.ts'
import { databaseFinding, type Finding } from './finding.ts'
import { findExistingDirectory } from './machine.ts'
import { findPrivateFileFindings } from './private-file.ts'

const LOCK_TIMEOUT_MS = 3000
/** The time limit for checking a large database for damage. */
const CHECK_MS = 5000

/** Returns the file of an embedded database; undefined for another one, or where its settings have mistakes. */
export function embeddedFileOf(result: ReturnType<typeof readDatabase> | { readonly mistakes: readonly string[] }) {
  return 'database' in result && result.database.kind === 'sqlite' ? result.database.file : undefined
}

/** Returns the findings about the database. */
export async function findDatabaseFindings(
  database: DatabaseConfig,
  migrations: readonly Migration[],
): Promise<Finding[]> {
  const { kind } = database
  if (kind === 'sqlite') return withClosingNoted(database.file, () => findSqliteFindings(database.file, migrations))
  return (await import('./postgres.ts')).findPostgresFindings(database, migrations)
}

async function findSqliteFindings(file: string, migrations: readonly Migration[]): Promise<Finding[]> {
  // The configuration warns of a database in memory.
  if (file === ':memory:') return []
  let Database: Awaited<ReturnType<typeof loadDriver>>
  try {
    Database = await loadDriver()
  } catch (error) {
    return [databaseFinding('problem', (error as Error).message)]
  }
  try {
    const problem = findFileProblem(file)
    if (problem !== undefined) return [databaseFinding('problem', `${file} cannot be used: ${problem}`)]
    if (!existsSync(file)) return [creationFinding(file)]
    if (isWalMissing(file))
      return [
        databaseFinding(
          'warning',
          `${file}: ${WAL_MISSING}; put the log back, or the next start makes void what was open`,
        ),
      ]
    const { damage } = await findDamage(file, CHECK_MS)
    if (damage !== undefined) return [databaseFinding('problem', `${file} is damaged (${damage}); put back a backup`)]
    return [checkExistingDatabase(new Database(file), file, migrations), ...findPrivateFileFindings('database', file)]
  } catch (error) {
    return [databaseFinding('problem', `${file} cannot be used: ${(error as Error).message}`)]
  }
}

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Returns the rows of a query; none if there is no embedded database, or SQLite must not open its file. */
export async function readRows(database: DatabaseConfig, query: string): Promise<Rows> {
  const { kind } = database
  if (kind === 'sqlite') return readRowsOfFile(database.file, query)
  return (await import('./postgres.ts')).readRowsOfServer(database, query)
}

function readRowsOfFile(file: string, query: string): Promise<Rows> {
  return withClosingNoted(file, async () => {
    if (!isUsableFile(file)) return []
    const database = new (await loadDriver())(file)
    try {
      return database.prepare(query).all()
    } finally {
      database.close()
    }
  })
}

/** Checks that an existing database is writable, and its schema. */
function checkExistingDatabase(
  database: InstanceType<Awaited<ReturnType<typeof loadDriver>>>,
  file: string,
  migrations: readonly Migration[],
): Finding {
  try {
    database.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`)
    // Takes the write lock, which SQLite refuses for a read-only file, and rolls back.
    database.exec('begin immediate')
    const version = database.prepare('pragma user_version').get()?.user_version
    try {
      database.exec(`pragma user_version = ${String(version)}`)
    } finally {
      database.exec('rollback')
    }
    const tables = database
      .prepare("select name from sqlite_master where type = 'table'")
      .all()
      .map(({ name }) => name)
    const ids = tables.includes('migration') ? database.prepare('select id from migration order by id').all() : []
    const appliedMigrations = ids.map(({ id }) => String(id))
    return schemaFinding(file, tables.length > 0, appliedMigrations, migrations)
  } finally {
    // Otherwise closing might move the WAL of a killed service into the file, possibly only when this process ends.
    database.exec('pragma busy_timeout = 0')
    checkpointAndClose(database)
  }
}

function schemaFinding(
  file: string,
  hasTables: boolean,
  appliedMigrations: string[],
  migrations: readonly Migration[],
): Finding {
  let missing: number
  try {
    missing = selectMissingMigrations(appliedMigrations, migrations).length
  } catch (error) {
    return databaseFinding('problem', `${file}: ${(error as Error).message}`)
  }
  if (appliedMigrations.length === 0 && hasTables)
    return databaseFinding('problem', `${file} is the database of something else`)
  if (missing > 0)
    return databaseFinding('note', `${file} can be written; its schema is brought up to date at the start`)
  return databaseFinding(
    'ok',
    `${file} can be written; its schema is ${appliedMigrations.at(-1) ?? 'empty'}, the newest`,
  )
}

/** Checks the directory of a missing database, which a start would create. */
function creationFinding(file: string): Finding {
  const directory = findExistingDirectory(file)
  if (!lstatSync(directory).isDirectory())
    return databaseFinding('problem', `${file} cannot be made: ${directory} is a file`)
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
  } catch {
    return databaseFinding('problem', `${file} cannot be made: ${directory} cannot be written by this user`)
  }
  return databaseFinding('ok', `${file} is not there yet; it is made at the first start`)
}
