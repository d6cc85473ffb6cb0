import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ROOT } from '../../test/support/documents.ts'
import { findBuiltDirectory } from '../toolchain/places.ts'
import { loadDriver } from './sqlite.ts'
import { openSqliteInThreads } from './sqlite-threads.ts'
import { storeContract } from './store.contract.ts'
import { createCollection, type Migration } from './store.ts'

const directories: string[] = []
const fresh = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-store-'))
  directories.push(directory)
  return join(directory, 'test.db')
}
const open = <C>(file: string, migrations: readonly Migration[]) =>
  openSqliteInThreads<C>(file, migrations, join(findBuiltDirectory(), 'sqlite-writer-thread.cjs'))

beforeAll(() => {
  return () => {
    for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  }
})

describe('SQLite, with a thread that writes', () => {
  storeContract(fresh, open)

  it('reads while what is written waits for another process', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    onTestFinished(() => store.close())
    await store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])
    const Database = await loadDriver()
    const other = new Database(file)
    onTestFinished(() => other.close())
    other.exec('begin immediate')
    let isWritten = false
    const written = store.commit([{ insert: 'thing', id: 'b', value: { n: 2 } }]).finally(() => {
      isWritten = true
    })
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 1 }, version: 0 })
    expect(isWritten).toBe(false)
    other.exec('rollback')
    expect(await written).toBe(undefined)
    expect(await store.get('thing', 'b')).toEqual({ value: { n: 2 }, version: 0 })
  })

  it('waits for another process that writes to a file which is new to both', async () => {
    const file = fresh()
    const text = `
      const load = () => { try { return require('node:sqlite') } catch { return require('@photostructure/sqlite') } }
      const database = new (load().DatabaseSync)(process.argv[1])
      database.exec('begin immediate')
      console.log('begun')
      setTimeout(() => database.exec('rollback'), 300)`
    const other = spawn(process.execPath, ['-e', text, file], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(other.stdout, 'data')
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    onTestFinished(() => store.close())
    expect(await store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])).toBe(undefined)
  })

  it('waits for another process that holds the lock for seconds', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    onTestFinished(() => store.close())
    const Database = await loadDriver()
    const other = new Database(file)
    onTestFinished(() => other.close())
    other.exec('begin immediate')
    const written = store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])
    // SQLite measures its patience itself, so real seconds have to pass.
    await wait(2000)
    other.exec('rollback')
    expect(await written).toBe(undefined)
  })

  it('takes turns with others that write to the same file without pause', async () => {
    const file = fresh()
    const migrations = [{ id: '1', statements: createCollection('thing') }]
    const stores = [await open<{ thing: { n: number } }>(file, migrations)]
    while (stores.length < 4) stores.push(await open<{ thing: { n: number } }>(file, migrations))
    onTestFinished(async () => {
      for (const store of stores) await store.close()
    })
    const counts = stores.map(() => 0)
    await Promise.all(
      stores.map(async (store, at) => {
        // Each goes on until all have written enough, so that none is left alone with the file.
        for (let n = 0; Math.min(...counts) < 50; n++) {
          const rows = Array.from({ length: 100 }, (_, row) => `${at}.${n}.${row}`)
          await store.commit(rows.map((id) => ({ insert: 'thing', id, value: { n } })))
          counts[at] = n + 1
        }
      }),
    )
    const rows = await stores[0]?.list('thing')
    expect(rows).toHaveLength(100 * counts.reduce((sum, count) => sum + count, 0))
  })

  it('leaves nothing in the log when it tidies, however much is read meanwhile', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    onTestFinished(() => store.close())
    for (let n = 0; n < 30; n++) {
      await store.commit([{ insert: 'thing', id: `${n}`, value: { n } }])
      const tidyWhileReading = async (): Promise<boolean> => {
        let isTidy = false as boolean
        const tidied = store.tidy?.().finally(() => {
          isTidy = true
        })
        while (!isTidy) {
          for (let read = 0; read < 50; read++) await store.get('thing', '0')
          await setImmediate()
        }
        await tidied
        return statSync(`${file}-wal`).size === 0
      }
      // On a busy machine a read may hold the log for as long as it is waited for, and then the next round has it.
      await vi.waitUntil(tidyWhileReading, { timeout: 300_000 })
    }
  })

  it('says why nothing was written', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    const Database = await loadDriver()
    const other = new Database(file)
    other.exec('drop table thing')
    other.close()
    await expect(store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])).rejects.toThrow('no such table: thing')
    await store.close()
  })

  it('writes once that is gone which kept the thread from opening the database', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    onTestFinished(() => store.close())
    const Database = await loadDriver()
    const other = new Database(file)
    onTestFinished(() => other.close())
    other.exec("insert into migration (id) values ('later')")
    await expect(store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])).rejects.toThrow('newer')
    other.exec("delete from migration where id = 'later'")
    expect(await store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])).toBe(undefined)
  })

  it('writes before it is closed what it was asked before', async () => {
    const file = fresh()
    const migrations = [{ id: '1', statements: createCollection('thing') }]
    const store = await open<{ thing: { n: number } }>(file, migrations)
    await store.commit([{ insert: 'thing', id: 'first', value: { n: 0 } }])
    const committed = Array.from({ length: 20 }, (_, n) =>
      store.commit([{ insert: 'thing', id: `${n}`, value: { n } }]),
    )
    const closed = store.close()
    expect(new Set(await Promise.all(committed))).toEqual(new Set([undefined]))
    await closed
    const again = await open<{ thing: { n: number } }>(file, migrations)
    expect(await again.list('thing')).toHaveLength(21)
    await again.close()
  })

  it('writes no more once it is closed', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    await store.close()
    await expect(store.commit([{ insert: 'thing', id: 'a', value: { n: 1 } }])).rejects.toThrow('has ended')
  })

  it('is closed even where the thread cannot open the database', async () => {
    const file = fresh()
    const store = await open<{ thing: { n: number } }>(file, [{ id: '1', statements: createCollection('thing') }])
    const Database = await loadDriver()
    const other = new Database(file)
    onTestFinished(() => other.close())
    other.exec("insert into migration (id) values ('later')")
    await expect(store.close()).rejects.toThrow('newer')
    await expect(store.get('thing', 'a')).rejects.toThrow()
  })
})
