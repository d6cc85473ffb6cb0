/** Opens the database of a service: refuses a damaged database, detects a restored one, and watches its file. */
import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { MissingKeyError } from '../../store/encrypted.ts'
import type { GenerationCollections } from '../../store/generation.ts'
import { isUnreachable } from '../../store/postgres-connections.ts'
import { refuseMissingRights } from '../../store/postgres-schema.ts'
import { type DamageReport, findDamage } from '../../store/sqlite-check.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import { findDamageInThread, openSqliteInThreads } from '../../store/sqlite-threads.ts'
import { type Migration, partOf, type Store } from '../../store/store.ts'
import { findBuiltDirectory } from '../../toolchain/places.ts'
import { openDatabase } from '../effects.ts'
import {
  generationFile,
  isWalMissing,
  noteClosed,
  readWitnesses,
  writeWitnesses,
} from '../embedded-database/generation-file.ts'
import { runInStartTurn, startInTurn } from '../embedded-database/open-lock.ts'
import { describeStorageError } from '../embedded-database/storage-advice.ts'
import { watchDatabase } from '../embedded-database/watched-database.ts'
import type { OpeningFailure, OpeningOptions } from '../service/service-kind.ts'
import { confirmDatabase } from './confirm-generation.ts'

/** The time limit for checking a large database at the start. */
const CHECK_MS = 5000
/** How long to wait for another process that has removed the WAL and is about to record that the database is closed. */
const CLOSING_MS = 500
/** The error codes of a disk that cannot be written now, and of a file that another process has locked. */
const TEMPORARY_CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EBUSY']

/**
 * Opens a database like `openDatabase`. Throws a message for the operator also if the file is damaged, or if
 * `database.generation` is lower than before.
 */
export async function openServiceDatabase<C extends GenerationCollections>(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  options: OpeningOptions,
): Promise<Store<C>> {
  if (database.kind === 'sqlite' && database.file !== ':memory:') return openServiceFile(database, migrations, options)
  if (database.kind === 'postgresql') await refuseMissingRights(database)
  const onWait = (text: string): void => options.log.info({ event: 'migration_awaited' }, text)
  const store = await openDatabase<C>(database, migrations, { onWait, onReplaced: options.onReplaced })
  try {
    await confirmDatabase(partOf(store), database, options)
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

/** How a database with encrypted collections is opened. */
interface EncryptedOpening<Opened> {
  readonly open: () => Promise<Opened>
  readonly encrypt: (plainStore: Opened) => Promise<Opened>
  /** Says, beginning with the setting, that a key of the database is missing. */
  readonly describeMissingKey: (error: MissingKeyError) => string
}

/** Opens a database, and adds encryption. Returns a mistake, which begins with the setting, if that fails. */
export async function openEncryptedDatabase<Opened extends { close(): Promise<void> }>(
  database: DatabaseConfig,
  { open, encrypt, describeMissingKey }: EncryptedOpening<Opened>,
): Promise<{ readonly store: Opened } | OpeningFailure> {
  let plainStore: Opened
  try {
    plainStore = await open()
  } catch (error) {
    return openingFailureOf(database, error)
  }
  try {
    return { store: await encrypt(plainStore) }
  } catch (error) {
    await plainStore.close()
    return error instanceof MissingKeyError ? { mistake: describeMissingKey(error) } : openingFailureOf(database, error)
  }
}

async function openServiceFile<C extends GenerationCollections>(
  database: Extract<DatabaseConfig, { readonly kind: 'sqlite' }>,
  migrations: readonly Migration[],
  options: OpeningOptions,
): Promise<Store<C>> {
  const { file } = database
  await noteMissingWal(file)
  const openedStore = await openDatabase<C>(database, migrations, { openFile: openInThreads })
  const store = watchDatabase(openedStore, database, options.log, findInThread)
  let endMark: () => void
  try {
    await refuseDamaged(file, options.log)
    endMark = await startInTurn(file, () => confirmDatabase(partOf(store), database, options, isWalMissing(file)))
  } catch (error) {
    await store.close()
    await noteClosed(file)
    throw error
  }
  const close = async (): Promise<void> => {
    try {
      await store.close()
    } finally {
      endMark()
      await noteClosed(file)
    }
  }
  return { ...store, close }
}

/** Returns the mistake for a database that could not be opened. */
export function openingFailureOf(database: DatabaseConfig, error: unknown): OpeningFailure {
  const mistake = `database.url: ${describeDatabase(database)}: ${describeStorageError(error)}`
  const isTemporary = database.kind === 'postgresql' ? isUnreachable(error) : isTemporaryProblem(error, database.file)
  return { mistake, isTemporary }
}

/** Tests whether the reason is a lock, or a disk that is full, fails or is mounted read-only. */
function isTemporaryProblem(error: unknown, file: string): boolean {
  const { code = '' } = error as { readonly code?: string }
  if (TEMPORARY_CODES.includes(code) || hasResultCode(error, 'busy', 'ioError', 'full')) return true
  try {
    accessSync(dirname(file), constants.W_OK)
    return false
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** Records a missing WAL until a start has handled that, since opening the database makes a new WAL. */
async function noteMissingWal(file: string): Promise<void> {
  if (!isWalMissing(file)) return
  await pause(CLOSING_MS)
  await runInStartTurn(file, () => {
    // Another process may have recorded meanwhile that the database is closed, or have handled that the WAL is missing.
    if (isWalMissing(file)) writeWitnesses(generationFile(file), readWitnesses(generationFile(file)), 'log-missing')
  })
}

function openInThreads<C>(file: string, migrations: readonly Migration[]): Promise<Store<C>> {
  return openSqliteInThreads<C>(file, migrations, join(findBuiltDirectory(), 'sqlite-writer-thread.cjs'))
}

function findInThread(file: string): Promise<DamageReport> {
  return findDamageInThread(file, join(findBuiltDirectory(), 'sqlite-check-thread.cjs'))
}

async function refuseDamaged(file: string, log: Logger): Promise<void> {
  const { damage, unchecked: uncheckedTables } = await findDamage(file, CHECK_MS)
  if (damage !== undefined) throw new Error(`the file is damaged (${damage}); put back a backup`)
  if (uncheckedTables.length === 0) return
  const line = { event: 'database_unchecked', tables: uncheckedTables }
  log.warn(line, 'the database is large: these tables were not looked at for damage')
}
