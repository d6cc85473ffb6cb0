/** The database of an engine: opened as its configuration says, with what its identity decrypts. */
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import { describeDatabase } from '../../config/database.ts'
import { type EngineCollections, type EngineStore, engineMigrations, engineSecrets } from '../../engine/collections.ts'
import { type EngineConfig, readEngineConfig } from '../../engine/config.ts'
import { storageEncryptionKey } from '../../engine/identity.ts'
import { encrypted, encryptionKey } from '../../store/encrypted.ts'
import { openSqliteInThreads } from '../../store/sqlite-threads.ts'
import type { Migration } from '../../store/store.ts'
import { builtDirectory } from '../../toolchain/places.ts'
import { readConfigFile } from '../config-file.ts'
import { files, now, openDatabase, random } from '../effects.ts'
import { CONFIG_FILE } from '../init/files.ts'
import { openServiceDatabase } from '../service-database.ts'

/** The mistake is about the setting that it begins with. With a log, for an engine that is to run on it. */
export async function openStore(
  { database, identity }: EngineConfig,
  log?: Logger,
): Promise<EngineStore | { readonly mistake: string }> {
  let store: EngineStore
  try {
    const open = (file: string, migrations: readonly Migration[]) =>
      openSqliteInThreads<EngineCollections>(file, migrations, join(builtDirectory(), 'sqlite-writer.cjs'))
    store =
      log === undefined
        ? await openDatabase(database, engineMigrations, open)
        : await openServiceDatabase(database, engineMigrations, { log, open })
  } catch (error) {
    return { mistake: `database.url: ${describeDatabase(database)}: ${(error as Error).message}` }
  }
  try {
    const keys = [encryptionKey(storageEncryptionKey(identity))]
    const settings = { collections: engineSecrets, keptMs: Infinity, refusesClear: true }
    return await encrypted(store, { ...settings, keys, random, now: now() })
  } catch {
    await store.close()
    return { mistake: `identity.keyFile: the database ${describeDatabase(database)} is of an engine with another key` }
  }
}

/**
 * Runs `work` on the embedded database of the engine in `directory`, which must not run meanwhile. Throws a message for
 * the operator when the database cannot be opened.
 */
export async function withEngineStore(directory: string, work: (store: EngineStore) => Promise<void>): Promise<void> {
  const inDirectory = { ...files, read: (path: string) => files.read(resolve(directory, path)) }
  const file = readConfigFile(join(directory, CONFIG_FILE), 'engine')
  const result = 'mistakes' in file ? file : readEngineConfig(file.value, inDirectory, now())
  if ('mistakes' in result) throw new Error(result.mistakes.join('\n'))
  const { config } = result
  if (config.database.kind !== 'sqlite') throw new Error('the database of this engine is not embedded')
  const database = { ...config.database, file: resolve(directory, config.database.file) }
  const store = await openStore({ ...config, database })
  if ('mistake' in store) throw new Error(store.mistake)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}
