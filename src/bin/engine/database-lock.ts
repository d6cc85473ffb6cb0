/**
 * The lock of an engine on its database. An engine caches values in memory, so two processes with the same identity
 * would give different results.
 */
import { dirname } from 'node:path'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { lockSqlite } from '../../store/sqlite-lock.ts'
import type { ProcessLock } from '../../store/store.ts'
import { openingFailureOf } from '../database/checked-database.ts'
import { makeDirectory } from '../files/directory.ts'
import type { OpeningFailure } from '../service/service-kind.ts'

/** Takes the lock. Returns a mistake, which begins with the setting, if another process has it. */
export async function lockDatabase(database: DatabaseConfig): Promise<ProcessLock | OpeningFailure> {
  try {
    return (await takeLock(database)) ?? { mistake: describeUse(database), isTemporary: true }
  } catch (error) {
    return openingFailureOf(database, error)
  }
}

async function takeLock(database: DatabaseConfig): Promise<ProcessLock | undefined> {
  // The code for PostgreSQL is only loaded when it is used.
  if (database.kind === 'postgresql') return (await import('../../store/postgres-lock.ts')).lockPostgres(database)
  if (database.file === ':memory:') return { keep: () => Promise.resolve(true), release: () => Promise.resolve() }
  makeDirectory(dirname(database.file), 0o700)
  return lockSqlite(database.file)
}

function describeUse(database: DatabaseConfig): string {
  const advice = 'stop it first, or give this engine a database and a key of its own'
  return `database.url: ${describeDatabase(database)} is in use by another process of an engine; ${advice}`
}
