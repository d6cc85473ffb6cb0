/**
 * `vouchsafe db restore`: replaces the database by a backup. A copy of the backup is first opened as a service would
 * open it, and replaces the database only if that succeeds. docs/decisions/0019-backups.md.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { findDamage } from '../../store/sqlite-check.ts'
import { type CopyProgress, copyTables, selectAppliedMigrations, type TableReader } from '../../store/tables.ts'
import { now, reportWait } from '../effects.ts'
import { FILE_ENDS, isSqliteFile } from '../embedded-database/database-file.ts'
import { refuseMissingFile, refuseWhileOpen } from '../embedded-database/file-refusals.ts'
import { describeStorageError, throwAt } from '../embedded-database/storage-advice.ts'
import { makeDirectory, PRIVATE } from '../files/directory.ts'
import { isSameFile } from '../files/same-file.ts'
import type { ConfiguredService } from '../service/configured-service.ts'
import type { OpenedStore } from '../service/service-kind.ts'
import { commandName } from '../terminal/command-line.ts'
import { type CommandResult, rowsText } from '../terminal/command-result.ts'
import { documentPath } from '../terminal/document-path.ts'
import { timeText } from '../terminal/terminal.ts'
import { rememberOwner } from './file-owner.ts'
import { createRowReport, type Tell, tellNothing, tellStep } from './progress.ts'
import { replaceFile } from './replace-file.ts'
import { countTables, findNewestTime, sumRows, withTables } from './tables.ts'
import { beginFile, removeFiles } from './unfinished-file.ts'

/** The prefix of directories in which a backup is prepared for PostgreSQL. */
const DIRECTORY_PREFIX = 'vouchsafe-restore-'

const NO_SQLITE_FILE =
  'it is not a database of SQLite, as vouchsafe db backup makes one; a dump of PostgreSQL is put back by pg_restore or psql'

const END_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The file of a backup, and what shows the progress of its restore. */
interface NamedBackup {
  readonly file: string
  readonly tell: Tell
}

/** The result of a restore. */
interface RestoreResult {
  /** Where the previous database was moved to; undefined if there was none. */
  readonly kept: string | undefined
  readonly voided: number | undefined
  /** The directories that interrupted restores into PostgreSQL left behind, each with a backup. */
  readonly leftovers: readonly string[]
  readonly rows: number
  /** The rows of the backup; voided sessions add events to them. */
  readonly rowsOfBackup: number
  readonly schema: string | undefined
  /** The time of the newest session or callback in the backup. */
  readonly newest: string | null
}

/** The part of the result that is known before the restored database is read. */
type Replacement = Pick<RestoreResult, 'kept' | 'voided' | 'rowsOfBackup'>

/** Restores a backup. Throws a message for the operator; the database is then unchanged. */
export async function restoreBackup(
  service: ConfiguredService,
  file: string,
  tell: Tell = tellNothing,
): Promise<CommandResult> {
  refuseMissingFile(file, 'there is no such file; name a backup')
  const { database } = service.config
  if (database.kind === 'sqlite' && isSameFile(file, database.file)) {
    throw new Error(`${file}: it is the database itself; name a backup of it`)
  }
  if (database.kind === 'sqlite') return restoreFile(service, { file, tell }, database.file)
  return withPrivateDirectory((directory) => restoreByCopy(service, { file, tell }, join(directory, 'backup.db')))
}

/** Restores an embedded database. Its files belong to the owner of the database before, also if root restores it. */
async function restoreFile(service: ConfiguredService, backup: NamedBackup, file: string): Promise<CommandResult> {
  await refuseWhileOpen(file, service.config.port)
  makeDirectory(dirname(file), 0o700)
  const giveToOwner = rememberOwner(file)
  const result = await restoreByCopy(service, backup, `${file}.restoring`)
  giveToOwner()
  return result
}

/** Runs `work` with a private directory, which is removed afterwards, also after a signal. */
async function withPrivateDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  let directory: string | undefined
  const remove = (): void => {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  }
  const end = (signal: NodeJS.Signals): void => {
    remove()
    // The listener is gone by now, so this ends the process, also the first one of a container (first-process.ts).
    process.kill(process.pid, signal)
  }
  for (const signal of END_SIGNALS) process.once(signal, end)
  try {
    // The directory is new, so it cannot contain a link of another user.
    directory = mkdtempSync(join(tmpdir(), DIRECTORY_PREFIX))
    return await work(directory)
  } finally {
    for (const signal of END_SIGNALS) process.off(signal, end)
    remove()
  }
}

async function restoreByCopy(service: ConfiguredService, backup: NamedBackup, copy: string): Promise<CommandResult> {
  beginFile(copy, 'restore')
  let replacement: Replacement
  try {
    replacement = await restoreCopy(service, backup, copy)
  } finally {
    // First of all, since a later file of this name belongs to another restore.
    removeFiles(copy)
  }
  const { database } = service.config
  const leftovers = database.kind === 'postgresql' ? findLeftovers(dirname(copy)) : []
  return resultOf(service, backup.file, { ...replacement, leftovers, ...(await withTables(database, countAll)) })
}

/** Returns the directories of other restores of this user, which were killed or are running. */
function findLeftovers(ownDirectory: string): readonly string[] {
  const isOwn = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(DIRECTORY_PREFIX))
    .map((name) => join(tmpdir(), name))
    .filter((path) => path !== ownDirectory && isOwn(path))
    .sort()
}

async function restoreCopy(
  { kind, config }: ConfiguredService,
  { file, tell }: NamedBackup,
  copy: string,
): Promise<Replacement> {
  const { database } = config
  const { size } = statSync(file)
  tellStep(tell, `Copying ${file}`, size)
  // A copy of the files of a stopped service may have a WAL or a journal with part of the data.
  for (const end of FILE_ENDS.filter((each) => each !== '-shm')) {
    if (!existsSync(file + end)) continue
    copyOrThrow(file + end, copy + end)
    // The copy has the mode of the backup, and must be private.
    chmodSync(copy + end, PRIVATE)
  }
  if (!isSqliteFile(copy)) throw new Error(`${file}: ${NO_SQLITE_FILE}`)
  tellStep(tell, 'Looking for damage in the copy', size)
  const { damage } = await findDamage(copy, Infinity)
  if (damage !== undefined) throw new Error(`${file}: it is damaged (${damage}); use another backup`)
  const rowsOfBackup = await withTables({ kind: 'sqlite', file: copy }, (reader) => {
    try {
      selectAppliedMigrations(reader, kind.migrations)
    } catch (error) {
      return throwAt(file)(error)
    }
    return countRows(reader)
  })
  tellStep(tell, 'Making void in the copy what was open in the backup', size)
  const voided = await prepareCopy({ kind, config: { ...config, database: fileDatabase(database, copy) } })
  return { kept: await replaceDatabase({ kind, config }, copy, createRowReport(tell)), voided, rowsOfBackup }
}

function copyOrThrow(file: string, copy: string): void {
  try {
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
  } catch (error) {
    throw new Error(`${copy}: the backup cannot be copied: ${describeStorageError(error)}`, { cause: error })
  }
}

function fileDatabase({ generation }: DatabaseConfig, file: string): DatabaseConfig {
  return { kind: 'sqlite', file, ...(generation !== undefined && { generation }) }
}

/**
 * Opens the copy as a service does, which starts a new generation in it. Returns the number of sessions that this
 * ended.
 */
async function prepareCopy({ kind, config }: ConfiguredService): Promise<number | undefined> {
  const openedStore: OpenedStore | { readonly mistake: string } = await kind.openStore(config, {
    log: pino({ level: 'silent' }),
    isRestored: true,
  })
  if ('mistake' in openedStore) throw new Error(openedStore.mistake)
  await openedStore.store.close()
  return openedStore.voidedSessions
}

/** Replaces the database by the copy. Returns where the previous database was moved to; undefined if there was none. */
async function replaceDatabase(
  { kind, config: { database, port } }: ConfiguredService,
  copy: string,
  progress: CopyProgress,
): Promise<string | undefined> {
  const stamp = now().toISOString().replace(/\D/g, '')
  const preparedCopy: DatabaseConfig = { kind: 'sqlite', file: copy }
  if (database.kind === 'sqlite') {
    const witness = await withTables(preparedCopy, ({ generation }) => Promise.resolve(generation?.witness))
    // A service may have started meanwhile.
    await refuseWhileOpen(database.file, port)
    return replaceFile({ file: database.file, copy, keptFile: `${database.file}.before-${stamp}`, witness })
  }
  const { replacePostgresTables } = await import('../../store/postgres-tables.ts')
  const replacement = {
    server: database,
    migrations: kind.migrations,
    kept: `vouchsafe_before_${stamp}`,
    onWait: () => reportWait(database),
  }
  return withTables(preparedCopy, (reader) =>
    replacePostgresTables(replacement, (writer) => copyTables(reader, writer, progress)).catch(
      throwAt(describeDatabase(database)),
    ),
  )
}

async function countAll(reader: TableReader): Promise<Pick<RestoreResult, 'rows' | 'schema' | 'newest'>> {
  return {
    rows: await countRows(reader),
    schema: reader.appliedMigrations.at(-1),
    newest: await findNewestTime(reader),
  }
}

async function countRows(reader: TableReader): Promise<number> {
  return sumRows(await countTables(reader))
}

/** Says where the previous database is. */
function keptText(kept: string | undefined, { kind }: DatabaseConfig): string {
  if (kept === undefined) return 'There was no database before.'
  return kind === 'sqlite'
    ? `The previous database is ${kept}; take it away when you no longer need it.`
    : `The previous tables are in the schema ${kept}; drop it when you no longer need them.`
}

function resultOf({ kind, config }: ConfiguredService, file: string, restoreResult: RestoreResult): CommandResult {
  const { database } = config
  const { kept, voided, leftovers, rows, rowsOfBackup, schema, newest } = restoreResult
  const place = describeDatabase(database)
  const lines = [
    `${place} is restored from ${file}: ${rowsText(rowsOfBackup)}, schema ${schema ?? 'unknown'}.`,
    ...(rows === rowsOfBackup
      ? []
      : [`With what the restore adds, such as events of void sessions: ${rowsText(rows)}.`]),
    ...(newest === null ? [] : [`The newest session in it is of ${timeText(new Date(newest))}.`]),
    keptText(kept, database),
    ...(kind.name === 'issuer'
      ? [
          'Another generation has begun: new status lists begin, and the old ones are served as before.',
          `Credentials that were issued since the backup stay valid. To revoke them all, once the service runs again: ${commandName()} status-list revoke-unknown`,
        ]
      : []),
    ...(voided === undefined ? [] : [`Sessions that were open in the backup, and are void now: ${voided}.`]),
    ...leftovers.map(
      (path) => `${path} has the backup of a restore that was killed; delete this directory if no restore is running.`,
    ),
    `Start the service. What happened since the backup is not in it: ${documentPath('docs/how-to/restore-a-backup.md')} says what to do.`,
  ]
  return {
    text: lines.join('\n'),
    facts: {
      database: place,
      file,
      kept: kept ?? null,
      voided: voided ?? null,
      leftovers,
      rows,
      rows_of_backup: rowsOfBackup,
      schema,
      newest,
    },
  }
}
