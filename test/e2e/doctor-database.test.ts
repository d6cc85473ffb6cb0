/** The findings of `vouchsafe doctor` about the database of a service and its key. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findDatabaseFindings } from '../../src/bin/doctor/database.ts'
import { issuerMigrations } from '../../src/issuer/collections.ts'
import { loadDriver } from '../../src/store/sqlite.ts'
import { createCollection } from '../../src/store/store.ts'
import { examine, itFinds, makeDatabase, makeServiceFiles, type ServiceFiles } from '../support/doctor.ts'

/** Makes a key for the database where there is none, and returns the path of its file. */
function databaseKey({ directory }: ServiceFiles): string {
  const file = join(directory, 'database.key')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 })
  return file
}

/** Runs a statement on the database of the issuer in `directory`, which is made where there is none. */
async function execute(directory: string, sql: string): Promise<void> {
  const database = new (await loadDriver())(join(directory, 'data/issuer.db'))
  database.exec(sql)
  database.close()
}

describe('vouchsafe doctor finds', () => {
  itFinds([
    ['a database that is not there yet', 'issuer', () => undefined, 'database', 'ok', /made at the first start/],
    [
      'a database that is not a database',
      'issuer',
      ({ directory }) => {
        mkdirSync(join(directory, 'data'))
        writeFileSync(join(directory, 'data/issuer.db'), 'hello '.repeat(1000))
      },
      'database',
      'problem',
      /file is not a database/,
    ],
    [
      'a database in a place that is a file',
      'issuer',
      ({ directory }) => writeFileSync(join(directory, 'data'), ''),
      'database',
      'problem',
      /cannot be made: .*data is a file/,
    ],
    [
      'a database of the other service',
      'verifier',
      ({ directory }) => makeDatabase(join(directory, 'data/verifier.db'), issuerMigrations),
      'database',
      'problem',
      /of a newer release or of another service \(it has issuer-0001\)/,
    ],
    [
      'a database that a copy was cut off into',
      'issuer',
      async ({ directory }) => {
        await makeDatabase(join(directory, 'data/issuer.db'), issuerMigrations)
        await execute(directory, "insert into migration (id) values ('unfinished-copy')")
      },
      'database',
      'problem',
      /issuer\.db: a copy into the database has not ended; run the same vouchsafe db copy again/,
    ],
    [
      'a database of something else',
      'issuer',
      async ({ directory }) => {
        mkdirSync(join(directory, 'data'))
        await execute(directory, 'create table customer (id text)')
      },
      'database',
      'problem',
      /the database of something else/,
    ],
    [
      'a database that is up to date',
      'issuer',
      ({ directory }) => makeDatabase(join(directory, 'data/issuer.db'), issuerMigrations),
      'database',
      'ok',
      /its schema is issuer-\d{4}, the newest/,
    ],
    [
      'a database that others can read',
      'issuer',
      async ({ directory }) => {
        await makeDatabase(join(directory, 'data/issuer.db'), issuerMigrations)
        chmodSync(join(directory, 'data/issuer.db'), 0o640)
      },
      'database',
      'warning',
      /issuer\.db \(mode 640\); chmod 600/,
    ],
    [
      'a key for the database',
      'issuer',
      (one) => ({ database: { ...(one.settings.database as object), encryptionKeyFile: databaseKey(one) } }),
      'database.encryptionKeyFile',
      'ok',
      /personal data is encrypted with one key: [\w-]{12}$/,
    ],
    [
      'a key for the database that others can read',
      'issuer',
      (one) => {
        chmodSync(databaseKey(one), 0o644)
        return { database: { ...(one.settings.database as object), encryptionKeyFile: databaseKey(one) } }
      },
      'database.encryptionKeyFile',
      'warning',
      /mode 644\); chmod 600/,
    ],
    [
      'an encrypted database without its key',
      'issuer',
      async (one) => {
        const file = join(one.directory, 'data/issuer.db')
        await makeDatabase(file, issuerMigrations)
        const Database = await loadDriver()
        const database = new Database(file)
        database.exec("insert into encryption_key values ('abc', '{}', 0, null)")
        database.close()
      },
      'database.encryptionKeyFile',
      'problem',
      /the database is encrypted; name the file with its key abc/,
    ],
    [
      'a database in memory',
      'issuer',
      () => ({ database: { url: 'sqlite::memory:' } }),
      'database',
      'warning',
      /in memory/,
    ],
  ])

  it('nothing of a database, when it cannot know which one is meant', async () => {
    const it = await makeServiceFiles('issuer')
    it.settings.database = { url: 'postgresql://a:b@127.0.0.1/c', pool: { maxConnections: 0 } }
    const findings = await examine(it)
    expect(findings.map(({ subject }) => subject)).toContain('database.pool.maxConnections')
    expect(findings.map(({ subject }) => subject)).not.toContain('database')
  })

  it('a schema that is older, without changing it', async () => {
    const it = await makeServiceFiles('issuer')
    const file = join(it.directory, 'data/issuer.db')
    await makeDatabase(file, issuerMigrations)
    const newer = { id: 'issuer-9999', statements: createCollection('later') }
    chmodSync(file, 0o600)
    expect(await findDatabaseFindings({ kind: 'sqlite', file }, [...issuerMigrations, newer])).toMatchObject([
      { outcome: 'note' },
    ])
    expect(await findDatabaseFindings({ kind: 'sqlite', file }, issuerMigrations)).toMatchObject([{ outcome: 'ok' }])
  })
})
