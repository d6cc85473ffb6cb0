/** The service of a command, and the database that it is configured with. */
import { accessSync, constants, existsSync } from 'node:fs'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { loadDriver } from '../../store/sqlite.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import type { TableCount, TableReader } from '../../store/tables.ts'
import { readConfigFile, requireConfig } from '../config-file.ts'
import { fileProblem, findKindProblem } from '../embedded-database/database-file.ts'
import { withClosingNoted, withMissingWalKept } from '../embedded-database/generation-file.ts'
import { describeStorageError } from '../embedded-database/storage-advice.ts'
import { isServiceName, kindLoaders, serviceNames } from '../service/kind-loaders.ts'
import type { ListeningConfig, ServiceKind, ServiceName } from '../service/service-kind.ts'
import { findService, refuseOtherService, unknownServiceMistake } from '../service/which-service.ts'
import { fetchTitle } from '../who-listens.ts'

const LOCK_TIMEOUT_MS = 500

/** The service that a command is about, with its configuration. */
export interface ConfiguredService {
  readonly kind: ServiceKind
  readonly config: ListeningConfig
}

/**
 * Reads the configuration of the service from its file and the environment. Throws a message for the operator if it is
 * invalid.
 */
export async function readConfiguredService(words: {
  readonly service?: string | undefined
  readonly config: string
}): Promise<ConfiguredService> {
  const { service, config: path } = words
  const name = service !== undefined && isServiceName(service) ? service : undefined
  const file = readConfigFile(path, name)
  if ('mistakes' in file) throw new Error(file.mistakes.join('\n'))
  const kind = await kindLoaders[name ?? (await kindOf(file.value, path))]()
  await refuseOtherService(file.value, kind.name, path)
  return { kind, config: requireConfig(kind, path, file) }
}

async function kindOf(value: unknown, path: string): Promise<ServiceName> {
  const name = await findService(value)
  if (name !== undefined) return name
  throw new Error(unknownServiceMistake(path, serviceNames))
}

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

/** Returns a function that rethrows an error with the name of the database or file, and advice about its disk. */
export function throwAt(place: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${place}: ${describeStorageError(error)}`, { cause: error })
  }
}

/** Counts the rows of each table. */
export async function countTables(reader: TableReader): Promise<readonly TableCount[]> {
  const counts: TableCount[] = []
  for (const table of reader.tables) counts.push({ table: table.name, rows: await reader.count(table) })
  return counts
}

/** Returns the time of the newest session or callback in ISO 8601; null if there is none. */
export async function findNewestTime(reader: TableReader): Promise<string | null> {
  let newest = 0
  for (const table of reader.tables) {
    if (table.hasCreationTime) newest = Math.max(newest, await reader.newestTime(table))
  }
  return newest === 0 ? null : new Date(newest).toISOString()
}

/**
 * Throws `missing` if the file does not exist, and a message if SQLite would apply a WAL or journal of another
 * database.
 */
export function refuseMissingFile(
  file: string,
  missing = 'there is no such database; has the service run here?',
): void {
  refuseUnreadableFile(file)
  const problem = fileProblem(file)
  if (problem !== undefined) throw new Error(`${file}: ${problem}`)
  if (!existsSync(file)) throw new Error(`${file}: ${missing}`)
}

/** Throws a message for the operator if the file is damaged. */
export async function refuseDamagedFile(file: string): Promise<void> {
  const { damage } = await findDamage(file, Infinity)
  if (damage !== undefined) throw new Error(`${file}: the file is damaged (${damage}); put back a backup`)
}

/** Throws a message for the operator if the path leads to something other than a file, or the user may not read it. */
function refuseUnreadableFile(file: string): void {
  if (!existsSync(file)) return
  const kindProblem = findKindProblem(file)
  if (kindProblem !== undefined) throw new Error(`${file}: ${kindProblem}`)
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new Error(`${file}: this user may not read it; run the command as the user of the service`, { cause: error })
  }
}

/**
 * Throws if another process has the database open. To find out, it takes the file out of WAL mode, into which the next
 * start puts it again. If SQLite cannot open the file, a service that listens on the configured port is assumed to use
 * it.
 */
export async function refuseWhileOpen(file: string, port?: number): Promise<void> {
  if (!existsSync(file)) return
  refuseUnreadableFile(file)
  const state = fileProblem(file) === undefined ? await withClosingNoted(file, () => tryLeaveWal(file)) : 'unknown'
  const isServed = async () => port !== undefined && (await fetchTitle(`http://127.0.0.1:${port}`)) !== undefined
  const isOpen = state === 'in use' || (state === 'unknown' && (await isServed()))
  if (isOpen) throw new Error(`${file}: another process has the database open; stop the service first`)
}

/**
 * Tries to change the journal mode, which SQLite allows only if no other process has the database open. A lock would
 * tell the same, but in WAL mode a reader of this process can keep its lock after it was closed, and leaves an empty
 * WAL beside the file.
 */
async function tryLeaveWal(file: string): Promise<'free' | 'in use' | 'unknown'> {
  const database = new (await loadDriver())(file)
  try {
    database.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`)
    database.exec('pragma journal_mode = delete')
    return 'free'
  } catch (error) {
    return hasResultCode(error, 'busy', 'locked') ? 'in use' : 'unknown'
  } finally {
    database.close()
  }
}
