/**
 * `vouchsafe db copy`: copies the database of a service to another database, of either kind. After an interruption, the
 * same command continues. docs/decisions/0019-backups.md.
 */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Database, type DatabaseConfig, describeDatabase, readDatabase } from '../../config/database.ts'
import { listVariables } from '../../config/environment.ts'
import { type DatabaseGeneration, findRestoreReason } from '../../store/generation.ts'
import { withConnection } from '../../store/postgres-connections.ts'
import { compareOrigins, readOrigin } from '../../store/postgres-origin.ts'
import type { Migration } from '../../store/store.ts'
import {
  type CopyProgress,
  type CopyTarget,
  copyInto,
  selectAppliedMigrations,
  type TableReader,
} from '../../store/tables.ts'
import { readExternalState } from '../database/confirm-generation.ts'
import { files, reportWait } from '../effects.ts'
import { refuseWhileOpen } from '../embedded-database/file-refusals.ts'
import { isWalMissing, WAL_MISSING } from '../embedded-database/generation-file.ts'
import { throwAt } from '../embedded-database/storage-advice.ts'
import { makeDirectory } from '../files/directory.ts'
import { isSameFile } from '../files/same-file.ts'
import { readConfiguredService } from '../service/configured-service.ts'
import { isServiceName, kindLoaders } from '../service/kind-loaders.ts'
import type { ServiceName } from '../service/service-kind.ts'
import { type CommandResult, rowsText } from '../terminal/command-result.ts'
import { sumRows, withTables } from './tables.ts'

interface CopyOptions {
  readonly from: string
  readonly to: string
  /** The service of the configuration, if the configuration does not reveal it. */
  readonly service?: ServiceName | undefined
}

/** Copies a database. Throws a message for the operator; no row of the source is changed. */
export async function copyDatabase(
  { from, to, service }: CopyOptions,
  progress: CopyProgress = () => undefined,
): Promise<CommandResult> {
  const [source, target] = await Promise.all([
    readDatabaseOption('from', from, service),
    readDatabaseOption('to', to, service),
  ])
  const [sourceName, targetName] = [describeDatabase(source), describeDatabase(target)]
  const areFiles = source.kind === 'sqlite' && target.kind === 'sqlite'
  if (sourceName === targetName || (areFiles && isSameFile(source.file, target.file))) {
    throw new Error(`--from and --to name the same database: ${sourceName}${describeOverride(from, to)}`)
  }
  // Reading makes an empty WAL where there is none.
  const isWalGone = source.kind === 'sqlite' && isWalMissing(source.file)
  // A start after this reading gives the database another witness; a service that started before is still connected.
  const before = await readGenerationOnServer(source)
  await refuseInUse(source)
  await refuseInUse(target)
  const { counts, digest } = await withTables(source, async (reader) => {
    await refuseUnstarted(source, reader, isWalGone)
    const migrations = selectAppliedMigrations(reader, await migrationsOf(reader))
    const name = reader.generation?.id ?? 'a database without a generation'
    const confirmSource = async () => refuseStarted(source, before, await readGenerationOnServer(source))
    const copy = withTarget(target, migrations, (writer) => copyInto(reader, writer, { name, progress, confirmSource }))
    return copy.catch(throwAt(targetName))
  })
  const rows = sumRows(counts)
  return {
    text: `${targetName} has all of ${sourceName}: ${rowsText(rows)}, SHA-256 ${digest}. Name it in database.url, start the service on it, and never again on ${sourceName}.`,
    facts: { from: sourceName, to: targetName, rows, tables: counts, digest },
  }
}

/**
 * Returns the database that an option names, by URL or by a configuration file. The latter keeps passwords off the
 * command line.
 */
async function readDatabaseOption(
  option: 'from' | 'to',
  text: string,
  service: ServiceName | undefined,
): Promise<DatabaseConfig> {
  if (text.endsWith('.json')) {
    const { config } = await readConfiguredService({ service, config: text }).catch(throwAt(`--${option} ${text}`))
    return config.database
  }
  const result = readDatabase({ url: text }, '', files)
  if ('mistakes' in result) {
    // The URL is that of the option, and not that of a setting.
    const mistakes = result.mistakes.map((mistake) => mistake.replace(/^database\.url: /, ''))
    throw new Error(`--${option}: ${mistakes.join('; ')}`)
  }
  return result.database
}

/** Returns what to do where a variable names the database of a configuration; an empty text if none does. */
function describeOverride(...options: readonly string[]): string {
  const variables = listVariables({ properties: { database: Database } }, process.env)
  const variable = variables.find((name) => /^VOUCHSAFE_DATABASE(__URL)?(_FILE)?$/.test(name))
  const configurations = options.filter((option) => option.endsWith('.json'))
  if (variable === undefined || configurations.length === 0) return ''
  return `; ${variable} goes before database.url of ${configurations.join(' and ')}: name each database by its URL`
}

/**
 * Throws a message for the operator when the source was put back, or its WAL was taken away, and no service has started
 * on it since: the target would not be taken for a restored database.
 */
async function refuseUnstarted(source: DatabaseConfig, { generation }: TableReader, isWalGone: boolean): Promise<void> {
  if (generation === undefined) return
  const origin = source.kind === 'postgresql' ? await withConnection(source, readOrigin) : generation.origin
  const external = { ...readExternalState(source), origin, restoredBecause: isWalGone ? WAL_MISSING : undefined }
  const why = findRestoreReason({ compareOrigins }, generation, external)
  if (why === undefined) return
  const place = describeDatabase(source)
  const putInPlace = source.kind === 'postgresql' ? '' : 'put it in place with vouchsafe db restore, '
  throw new Error(
    `${place}: it is a backup or another copy, on which no service has started (${why}); ${putInPlace}start the service, and then copy`,
  )
}

/** Reads the generation of a database on a server; undefined for an SQLite file, whose reader keeps services off it. */
async function readGenerationOnServer(database: DatabaseConfig): Promise<DatabaseGeneration | undefined> {
  if (database.kind === 'sqlite') return undefined
  return withTables(database, ({ generation }) => Promise.resolve(generation))
}

/**
 * Throws a message for the operator if a service has started on the source between two readings of its generation: the
 * copy lacks what that service committed.
 */
function refuseStarted(source: DatabaseConfig, before?: DatabaseGeneration, after?: DatabaseGeneration): void {
  if (before?.id === after?.id && before?.witness === after?.witness) return
  throw new Error(
    `a service started on ${describeDatabase(source)} during the copy; stop it, empty the target, and copy again`,
  )
}

async function migrationsOf({ appliedMigrations: [first = ''] }: TableReader): Promise<readonly Migration[]> {
  const [service = ''] = first.split('-')
  return isServiceName(service) ? (await kindLoaders[service]()).migrations : []
}

async function refuseInUse(database: DatabaseConfig): Promise<void> {
  if (database.kind === 'sqlite') return refuseWhileOpen(database.file)
  const { refusePostgresInUse } = await import('../../store/postgres-tables.ts')
  return refusePostgresInUse(database).catch(throwAt(describeDatabase(database)))
}

async function withTarget<T>(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  if (database.kind === 'postgresql') {
    return (await import('../../store/postgres-tables.ts')).withPostgresTarget(
      { server: database, migrations, onWait: () => reportWait(database) },
      work,
    )
  }
  if (!existsSync(dirname(database.file))) makeDirectory(dirname(database.file), 0o700)
  return (await import('../../store/sqlite-tables.ts')).withSqliteTarget(database.file, migrations, work)
}
