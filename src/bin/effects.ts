/**
 * The effects of the services and the wallet: files, clock, randomness and database. Only `bin/` has access to anything
 * outside of the process.
 */
import { randomFillSync } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { CommonConfig } from '../config/common.ts'
import { type DatabaseConfig, describeDatabase } from '../config/database.ts'
import type { Files } from '../config/files.ts'
import { longestRetentionMs } from '../config/retention.ts'
import type { Outbound } from '../http/outbound.ts'
import { loadPkcs11js } from '../keys/pkcs11/module.ts'
import { createPkcs11Tokens, type Pkcs11Tokens } from '../keys/pkcs11/signer.ts'
import { type EncryptionCollections, encryptStore, makeDatabaseKey } from '../store/encrypted.ts'
import type { OriginWatch } from '../store/postgres-origin.ts'
import { type ConflictCounts, createRetryOnConflict } from '../store/retry.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Migration, Store } from '../store/store.ts'
import { findFileProblem } from './embedded-database/database-file.ts'
import { isWalMissing, noteClosed } from './embedded-database/generation-file.ts'
import { makeDirectory } from './files/directory.ts'
import { createOutbound } from './network/outbound.ts'

/** Resolves after `ms`. */
export const sleep = (ms: number): Promise<void> => setTimeout(ms)

export const now = (): Date => new Date()

export const files: Files = {
  read: (path) => readFileSync(path, 'utf8'),
  list: (directory) => readdirSync(directory).sort(),
  resolveLink: (path) => (isLink(path) ? realPathOf(path) : path),
}

/** Returns the files with paths relative to `directory`. */
export function filesIn(directory: string): Files {
  return {
    read: (path) => files.read(resolve(directory, path)),
    list: (path) => files.list(resolve(directory, path)),
    resolveLink: (path) => files.resolveLink(resolve(directory, path)),
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

/** Returns the path without symbolic links; undefined if it leads nowhere. */
function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Returns random bytes from a pool, since a system call for each salt would be slow. */
export const random = createPooledRandom(8192)

function createPooledRandom(poolBytes: number): (bytes: number) => Uint8Array {
  let pool = Buffer.alloc(0)
  let usedBytes = 0
  return (bytes) => {
    if (usedBytes + bytes > pool.length) {
      pool = randomFillSync(Buffer.alloc(Math.max(poolBytes, bytes)))
      usedBytes = 0
    }
    usedBytes += bytes
    return pool.subarray(usedBytes - bytes, usedBytes)
  }
}

/** The numbers of conflicts of all databases of this process. */
export const conflictCounts: ConflictCounts = { retried: 0, givenUp: 0 }

export const retryOnConflict = createRetryOnConflict({ random, wait: setTimeout, counts: conflictCounts })

/** The PKCS #11 tokens of this process. */
export const pkcs11Tokens: Pkcs11Tokens = createPkcs11Tokens({ loadPackage: loadPkcs11js, now })

/** The HTTP client of this process, whose connections are shared. */
export const outbound: Outbound = createOutbound()

/** Adds encryption of personal data to the store, if there are keys. Throws a {@link MissingKeyError}. */
export function encryptDatabase<C extends EncryptionCollections>(
  store: Store<C>,
  collections: readonly (keyof C & string)[],
  { encryptionKeys, retention }: Pick<CommonConfig, 'encryptionKeys' | 'retention'>,
): Promise<Store<C>> {
  const keys = encryptionKeys.map(makeDatabaseKey)
  return encryptStore(store, { keys, collections, random, now: now(), retentionMs: longestRetentionMs(retention) })
}

/** The functions of a service that opens its database. */
interface OpeningWays<C> {
  /** Opens the file of an embedded database. The service records itself that the database is closed. */
  readonly openFile?: typeof openSqlite<C>
  /** Reports, once, that another process migrates the database for long, or has a table locked. */
  readonly onWait?: (text: string) => void
  /** See {@link OriginWatch.onReplaced}. */
  readonly onReplaced?: OriginWatch['onReplaced'] | undefined
}

/**
 * Opens the database. The directory of an embedded one is created private, and closing is recorded in the generation
 * file, unless the WAL was missing before. Without `onWait`, a wait is reported on stderr.
 */
export async function openDatabase<C>(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  { openFile, onWait, onReplaced }: OpeningWays<C> = {},
): Promise<Store<C>> {
  if (database.kind === 'postgresql') {
    const { hasSynchronousStandbys } = database
    const originWatch = onReplaced && { hasSynchronousStandbys, onReplaced }
    // The code for PostgreSQL is only loaded when it is used.
    const { openPostgres } = await import('../store/postgres.ts')
    return openPostgres(database, migrations, () => reportWait(database, onWait), originWatch)
  }
  const problem = findFileProblem(database.file)
  if (problem !== undefined) throw new Error(problem)
  makeDirectory(dirname(database.file), 0o700)
  if (openFile !== undefined) return openFile(database.file, migrations)
  const wasMissing = isWalMissing(database.file)
  const store = await openSqlite<C>(database.file, migrations)
  const close = async (): Promise<void> => {
    try {
      await store.close()
    } finally {
      if (!wasMissing) await noteClosed(database.file)
    }
  }
  return { ...store, close }
}

/** Reports that another process migrates the database for long, or has a table locked. */
export function reportWait(
  database: DatabaseConfig,
  report: (text: string) => void = (text) => process.stderr.write(`${text}\n`),
): void {
  const why = 'which brings the schema up to date or has a table locked, as a backup does'
  report(`${describeDatabase(database)}: waiting for another process, ${why}`)
}
