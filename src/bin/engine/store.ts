/** Opens the database of an engine, with the decryption key that its identity gives. */
import { describeDatabase } from '../../config/database.ts'
import { type EngineStore, engineEncryptedCollections, engineMigrations } from '../../engine/collections.ts'
import type { EngineConfig } from '../../engine/config.ts'
import { storageEncryptionKey } from '../../engine/engine-key.ts'
import { encryptStore, makeDatabaseKey } from '../../store/encrypted.ts'
import { openEncryptedDatabase, openServiceDatabase } from '../database/checked-database.ts'
import { now, openDatabase, random } from '../effects.ts'
import type { OpeningFailure, OpeningOptions } from '../service/service-kind.ts'

/** The consequence of a restored database. */
const CONSEQUENCE =
  'values that components bound to their generation are void, transactions that wait are given up, and requests that were used since are good again, for five minutes at most'

/**
 * Opens the database of an engine. Returns a mistake that begins with the setting if it cannot be opened. `options` is
 * given if the engine is going to run on it.
 */
export async function openStore(
  { database, identity }: Pick<EngineConfig, 'database' | 'identity'>,
  options?: OpeningOptions,
): Promise<EngineStore | OpeningFailure> {
  const keys = [makeDatabaseKey(storageEncryptionKey(identity))]
  const settings = { collections: engineEncryptedCollections, retentionMs: Infinity, refusesPlaintext: true }
  const result = await openEncryptedDatabase<EngineStore>(database, {
    open: () =>
      options === undefined
        ? openDatabase(database, engineMigrations)
        : openServiceDatabase(database, engineMigrations, { consequence: CONSEQUENCE, ...options }),
    encrypt: (plainStore) => encryptStore(plainStore, { ...settings, keys, random, now: now() }),
    describeMissingKey: () =>
      `identity.keyFile: the database ${describeDatabase(database)} is of an engine with another key`,
  })
  return 'store' in result ? result.store : result
}
