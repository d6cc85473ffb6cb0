/** A new, empty database of the kind that this run of the tests is about. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type DatabaseConfig, readDatabase } from '../../src/config/database.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { createRetryOnConflict } from '../../src/store/retry.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Migration, Store } from '../../src/store/store.ts'

/** Retries with real pauses, as a service does. */
export const retryOnConflict = createRetryOnConflict({
  random: randomBytes,
  wait: setTimeout,
  counts: { retried: 0, givenUp: 0 },
})

/** Opens a store of the kind of the project of the tests: see vitest.config.js. */
export function openTestStore<C>(migrations: readonly Migration[]): Promise<Store<C>> {
  if (process.env.VOUCHSAFE_TEST_STORE === undefined) return openSqlite<C>(':memory:', migrations)
  return testDatabase<C>(migrations)()
}

/** Opens one such database each time it is called, as the processes do that share it. */
export function testDatabase<C>(migrations: readonly Migration[]): () => Promise<Store<C>> {
  if (process.env.VOUCHSAFE_TEST_STORE !== undefined) {
    const database = postgresOf(freshUrl())
    return () => openPostgres<C>(database, migrations)
  }
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-')), 'test.db')
  return () => openSqlite<C>(file, migrations)
}

/** Returns the address of the run's PostgreSQL server, with a schema in it that no other test uses. */
export function freshUrl(): string {
  return `${serverUrl()}?currentSchema=test_${randomBytes(8).toString('hex')}`
}

/** Returns the setting of a fresh database for a process: on the PostgreSQL server of the run, or its own file. */
export function databaseSettings(): { readonly database?: { readonly url: string } } {
  return process.env.VOUCHSAFE_TEST_STORE === undefined ? {} : { database: { url: freshUrl() } }
}

/** Returns the URL of the database of this run, with user and password. */
export function serverUrl(): string {
  const url = process.env.VOUCHSAFE_TEST_STORE
  if (url === undefined) throw new Error('this test belongs to the project postgresql')
  return url
}

export function postgresOf(url: string, pool: object = {}): Extract<DatabaseConfig, { kind: 'postgresql' }> {
  const read = readDatabase({ url, pool }, '', { read: () => '', list: () => [], resolveLink: (path) => path })
  if ('mistakes' in read || read.database.kind !== 'postgresql') throw new Error(JSON.stringify(read))
  return read.database
}

/** Returns a store whose lists have rows that cannot be read: those with an id for which `isDamaged` is true. */
export function withDamagedRows<C>(store: Store<C>, isDamaged: (id: string) => boolean): Store<C> {
  const damage = <R extends { readonly id: string; readonly value: unknown }>(rows: readonly R[]): readonly R[] =>
    rows.map((row) =>
      Object.defineProperty({ ...row }, 'value', {
        get: () => {
          if (isDamaged(row.id)) throw new Error('a value is damaged')
          return row.value
        },
      }),
    )
  return {
    ...store,
    listDue: async (...range) => damage(await store.listDue(...range)),
    listNewest: async (...range) => damage(await store.listNewest(...range)),
  }
}
