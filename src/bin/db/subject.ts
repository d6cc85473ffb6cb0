/** The database that a command is about: that of a configured service. */
import { existsSync } from 'node:fs'
import type { DatabaseConfig } from '../../config/database.ts'
import type { TableCount, TableReader } from '../../store/tables.ts'
import { readConfigFile, requireConfig } from '../config-file.ts'
import { fileProblem } from '../database-file.ts'
import { withClosingNoted } from '../generation-file.ts'
import { isKindName, kindLoaders, kindNames } from '../kind-loaders.ts'
import type { KindName, ListeningConfig, ServiceKind } from '../service-kind.ts'
import { serviceOf, unknownServiceMistake } from '../which-service.ts'

export interface Subject {
  readonly kind: ServiceKind
  readonly config: ListeningConfig
}

/**
 * Reads the settings of the service that a command is about, from its file and the environment. Throws a message for
 * the operator when they cannot be used.
 */
export async function readSubject(words: {
  readonly service?: string | undefined
  readonly config: string
}): Promise<Subject> {
  const { service, config: path } = words
  const name = service !== undefined && isKindName(service) ? service : undefined
  const file = readConfigFile(path, name)
  if ('mistakes' in file) throw new Error(file.mistakes.join('\n'))
  const kind = await kindLoaders[name ?? (await kindOf(file.value, path))]()
  return { kind, config: requireConfig(kind, path, file) }
}

async function kindOf(value: unknown, path: string): Promise<KindName> {
  const name = await serviceOf(value)
  if (name !== undefined) return name
  throw new Error(unknownServiceMistake(path, kindNames))
}

/**
 * Runs `work` on the tables of a database as they are, whether or not a service uses it. Throws a message for the
 * operator when there is no such database, or none that may be opened.
 */
export async function withTables<T>(database: DatabaseConfig, work: (reader: TableReader) => Promise<T>): Promise<T> {
  if (database.kind === 'postgresql') {
    return (await import('../../store/postgres-tables.ts')).withPostgresTables(database, work)
  }
  refuseMissingFile(database.file)
  const { withSqliteTables } = await import('../../store/sqlite-tables.ts')
  return withClosingNoted(database.file, () => withSqliteTables(database.file, work))
}

/** Counts the rows of each table, one table after another. */
export async function countTables(reader: TableReader): Promise<readonly TableCount[]> {
  const counts: TableCount[] = []
  for (const table of reader.tables) counts.push({ table: table.name, rows: await reader.count(table) })
  return counts
}

/** Returns the time of the newest session or callback, ISO 8601; null where there is none. */
export async function findNewestTime(reader: TableReader): Promise<string | null> {
  let newest = 0
  for (const table of reader.tables) {
    if (table.hasCreationTime) newest = Math.max(newest, await reader.newestTime(table))
  }
  return newest === 0 ? null : new Date(newest).toISOString()
}

/** Throws `missing` where there is no file, and a message where SQLite would read what does not belong to it. */
export function refuseMissingFile(
  file: string,
  missing = 'there is no such database; has the service run here?',
): void {
  const problem = fileProblem(file)
  if (problem !== undefined) throw new Error(`${file}: ${problem}`)
  if (!existsSync(file)) throw new Error(`${file}: ${missing}`)
}
