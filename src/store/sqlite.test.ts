import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { leastProcessorMs } from '../../test/support/processor-time.ts'
import { loadDriver, openSqlite } from './sqlite.ts'
import { storeContract } from './store.contract.ts'
import { addCreationTime, createCollection } from './store.ts'

const fresh = () => join(mkdtempSync(join(tmpdir(), 'vouchsafe-store-')), 'test.db')

describe('SQLite', () => {
  storeContract(fresh, (file, migrations) => openSqlite(file, migrations))

  it('rejects what waits for another process together and soon, writes none of it, and then goes on', async () => {
    const file = fresh()
    const store = await openSqlite<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    const Database = await loadDriver()
    const other = new Database(file)
    other.exec('begin immediate')
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => store.commit([{ insert: 'thing', id: String(n), value: { n } }])),
    )
    expect(results.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
    // All commits waited together, and so they share one error.
    expect(new Set(results.map((each) => each.status === 'rejected' && (each.reason as Error))).size).toBe(1)
    other.exec('rollback')
    expect(await store.list('thing')).toEqual([])
    expect(await store.commit([{ insert: 'thing', id: '0', value: { n: 0 } }])).toBe(undefined)
    other.close()
    await store.close()
  })

  it('leaves nothing in the file of what was replaced or purged', async () => {
    const file = fresh()
    const migrations = [{ id: '1', statements: createCollection('thing') }]
    const store = await openSqlite<{ thing: { secret?: string } }>(file, migrations)
    const secrets = ['first-', 'second-']
    const [dueAt, later] = [new Date(0), new Date(1)]
    for (const [n, secret] of secrets.entries())
      await store.commit([{ insert: 'thing', id: String(n), value: { secret: secret.repeat(50) }, dueAt }])
    // Other rows, so that the page stays in use.
    await store.commit([{ insert: 'thing', id: 'kept', value: {} }])
    await store.commit([{ update: 'thing', id: '0', version: 1, value: {} }])
    await store.purge('thing', later)
    await store.close()
    const bytes = [file, `${file}-wal`].map((each) => (existsSync(each) ? readFileSync(each, 'latin1') : '')).join()
    expect(bytes).toContain('kept')
    for (const secret of secrets) expect(bytes).not.toContain(secret.repeat(2))
  })

  it('has another origin in every copy that SQLite makes of it, also of a copy of a copy', async () => {
    const migrations = [{ id: '1', statements: createCollection('thing') }]
    const Database = await loadDriver()
    const { backup, DatabaseSync } = await import('@photostructure/sqlite')
    const originOf = async (file: string) => {
      const store = await openSqlite(file, migrations)
      const origin = await store.readOrigin()
      await store.close()
      return origin
    }
    let file = fresh()
    const origins = [await originOf(file)]
    for (let n = 0; n < 3; n += 1) {
      const copy = fresh()
      const database = new Database(file)
      database.exec(`vacuum into '${copy}'`)
      database.close()
      origins.push(await originOf(copy))
      file = copy
    }
    for (let n = 0; n < 3; n += 1) {
      const copy = fresh()
      const database = new DatabaseSync(file)
      await backup(database, copy)
      database.close()
      origins.push(await originOf(copy))
      file = copy
    }
    expect(new Set(origins).size).toBe(7)
    expect(await originOf(file)).toBe(origins.at(-1))
  })

  it('reads a page of a hundred thousand rows at the cost of one of a thousand', async () => {
    const migrations = [{ id: '1', statements: [...createCollection('thing'), ...addCreationTime('thing')] }]
    const Database = await loadDriver()
    const costOf = async (count: number) => {
      const file = fresh()
      const store = await openSqlite<{ thing: { n: number } }>(file, migrations)
      const database = new Database(file)
      database.exec(`insert into thing (id, value, version, created_at)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
        select 'row ' || n, '{"n":1}', 0, n from numbers`)
      database.close()
      const places = [count, count / 2, 60].map((n) => ({ createdAt: new Date(n), id: `row ${n}` }))
      const read = async () => {
        for (let round = 0; round < 50; round += 1) {
          for (const after of places) expect(await store.listNewest('thing', 50, after)).toHaveLength(50)
        }
      }
      await read()
      const cost = await leastProcessorMs(read)
      await store.close()
      return cost
    }
    expect((await costOf(100_000)) / (await costOf(1000))).toBeLessThan(3)
  })

  it('says what to install where neither Node nor a package has it', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
    vi.doMock('@photostructure/sqlite', () => Promise.reject(new Error('Cannot find package')))
    try {
      await expect(loadDriver()).rejects.toThrow('there is no SQLite: use Node 22.13 or newer, or install')
    } finally {
      vi.doUnmock('@photostructure/sqlite')
      vi.restoreAllMocks()
    }
  })

  it('keeps its statements working when garbage is collected between them', async () => {
    const store = await openSqlite<{ thing: { n: number } }>(fresh(), [
      { id: '1', statements: createCollection('thing') },
    ])
    for (let i = 0; i < 2000; i++) {
      await store.commit([{ insert: 'thing', id: String(i), value: { n: i } }])
      if (i % 500 === 0) Array.from({ length: 1e5 }, () => ({}))
    }
    expect(await store.get('thing', '1999')).toMatchObject({ value: { n: 1999 } })
    await store.close()
  })
})
