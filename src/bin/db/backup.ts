/**
 * `vouchsafe db backup`: writes a consistent copy of the database to one file, while it is in use. The file is an
 * SQLite database, also for PostgreSQL. docs/decisions/0019-backups.md.
 */
import { existsSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { loadDriver } from '../../store/sqlite.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { BUSY_TIMEOUT_MS } from '../../store/sqlite-transaction.ts'
import { checkpointAndClose } from '../../store/sqlite-writer.ts'
import { UNFINISHED_COPY, UNFINISHED_COPY_PROBLEM } from '../../store/statements.ts'
import type { Migration } from '../../store/store.ts'
import {
  copyTables,
  digestTables,
  selectAppliedMigrations,
  type TableCount,
  type TableReader,
} from '../../store/tables.ts'
import { withClosingNoted } from '../embedded-database/generation-file.ts'
import { describeStorageError } from '../embedded-database/storage-advice.ts'
import { flushToDisk } from '../files/flush-to-disk.ts'
import type { ConfiguredService } from '../service/configured-service.ts'
import { bytesText, type CommandResult, rowsText } from '../terminal/command-result.ts'
import { createRowReport, type Tell, tellNothing, tellStep } from './progress.ts'
import { countTables, sumRows, withTables } from './tables.ts'
import { beginFile, removeFiles } from './unfinished-file.ts'

/** Makes a backup. Throws a message for the operator; an existing file is then unchanged. */
export async function backUp(
  service: ConfiguredService,
  file: string,
  tell: Tell = tellNothing,
): Promise<CommandResult> {
  const partial = `${file}.partial`
  beginFile(partial, 'backup')
  try {
    // Another backup may have written this file meanwhile.
    if (existsSync(file)) throw new Error(`${file}: there is such a file already; name another, or take that one away`)
    return await writeBackup(service, { file, partial, tell })
  } finally {
    removeFiles(partial)
  }
}

/** Throws if copying into the database was interrupted. A service refuses such a database. */
function refuseUnfinishedCopy(database: DatabaseConfig): Promise<void> {
  return withTables(database, ({ appliedMigrations }) => {
    if (!appliedMigrations.includes(UNFINISHED_COPY)) return Promise.resolve()
    throw new Error(`${describeDatabase(database)}: ${UNFINISHED_COPY_PROBLEM}, and then this command`)
  })
}

/** A backup that is being made. */
interface Backup {
  readonly file: string
  /** The file until the backup is whole. */
  readonly partial: string
  readonly tell: Tell
}

async function writeBackup(
  { kind, config: { database } }: ConfiguredService,
  { file, partial, tell }: Backup,
): Promise<CommandResult> {
  try {
    await refuseUnfinishedCopy(database)
    await copyToFile(database, kind.migrations, { partial, tell })
    tellStep(tell, 'Looking for damage in the copy', statSync(partial).size)
    const { damage } = await findDamage(partial, Infinity)
    if (damage !== undefined)
      throw new Error(`the copy is damaged (${damage}), and so may be the database; run vouchsafe doctor`)
    const counts = await withTables({ kind: 'sqlite', file: partial }, countTables)
    flushToDisk(partial)
    renameSync(partial, file)
    flushToDisk(dirname(file))
    return resultOf(database, file, counts)
  } catch (error) {
    throw new Error(`${file}: not made: ${describeStorageError(error)}`, { cause: error })
  }
}

async function copyToFile(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  { partial, tell }: Pick<Backup, 'partial' | 'tell'>,
): Promise<void> {
  if (database.kind === 'postgresql') {
    return withTables(database, (reader) => copyReadTables(reader, migrations, { partial, tell }))
  }
  tellStep(tell, `Copying the database to ${partial}`, statSync(database.file).size)
  return withClosingNoted(database.file, () => copyFile(database.file, partial))
}

async function copyFile(from: string, file: string): Promise<void> {
  const source = new (await loadDriver())(from)
  try {
    source.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    // Reads the whole database in one transaction, which does not block writers.
    source.prepare('vacuum into ?').run(file)
  } finally {
    // Otherwise closing might move the WAL of a killed service into the file, possibly only when this process ends.
    source.exec('pragma busy_timeout = 0')
    checkpointAndClose(source)
  }
}

/** Writes the tables to a new SQLite file, and compares the two. */
async function copyReadTables(
  reader: TableReader,
  migrations: readonly Migration[],
  { partial, tell }: Pick<Backup, 'partial' | 'tell'>,
): Promise<void> {
  const { makeSqliteTables, withSqliteTables } = await import('../../store/sqlite-tables.ts')
  await makeSqliteTables(partial, selectAppliedMigrations(reader, migrations), (writer) =>
    copyTables(reader, writer, createRowReport(tell)),
  )
  tellStep(tell, 'Comparing the copy with the database', statSync(partial).size)
  const expectedDigest = await digestTables(reader, reader.tables)
  const { digest } = await withSqliteTables(partial, (copy) => digestTables(copy, copy.tables))
  if (digest !== expectedDigest.digest)
    throw new Error(
      'the copy differs from the database; run the command again, and vouchsafe doctor if it differs again',
    )
}

function resultOf(database: DatabaseConfig, file: string, tables: readonly TableCount[]): CommandResult {
  const rows = sumRows(tables)
  const bytes = statSync(file).size
  const place = describeDatabase(database)
  return {
    text: `${file} is a backup of ${place}: ${rowsText(rows)}, ${bytesText(bytes)}. It has personal data and keys of sessions: keep it as private as the database.`,
    facts: { database: place, file, bytes, rows, tables },
  }
}
