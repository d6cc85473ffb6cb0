import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type EncryptionCollections, encryptionKeyCollection, encryptStore, makeDatabaseKey } from './encrypted.ts'
import { loadDriver, openSqlite } from './sqlite.ts'
import { storeContract } from './store.contract.ts'
import { addCreationTime, createCollection, type Migration, type Store } from './store.ts'
import { sweep } from './sweep.ts'

type Things = EncryptionCollections & { thing: { name: string }; open: { name: string } }

const migrations: readonly Migration[] = [
  { id: '1', statements: [...encryptionKeyCollection, ...createCollection('thing'), ...createCollection('open')] },
  { id: '2', statements: addCreationTime('thing') },
]
const DAY = 86_400_000
const fresh = () => join(mkdtempSync(join(tmpdir(), 'vouchsafe-encrypted-')), 'test.db')
const [first, second, third] = Array.from({ length: 3 }, () => makeDatabaseKey(randomBytes(32))) as [Key, Key, Key]
type Key = ReturnType<typeof makeDatabaseKey>

async function openWith(file: string, keys: readonly Key[], day = 0): Promise<Store<Things>> {
  const store = await openSqlite<Things>(file, migrations)
  const now = new Date(day * DAY)
  return encryptStore<Things>(store, {
    keys,
    collections: ['thing'],
    random: randomBytes,
    now,
    retentionMs: 30 * DAY,
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
}

describe('an encrypted store', () => {
  storeContract(fresh, async (file, more) => {
    const all = [{ id: '0', statements: encryptionKeyCollection }, ...more]
    const store = await openSqlite<EncryptionCollections>(file, all)
    const encryption = { keys: [first], random: randomBytes, now: new Date(0), retentionMs: DAY }
    return encryptStore(store, { ...encryption, collections: ['thing', 'spent'] as never[] }) as never
  })

  it('has nothing of a value in its files, of collections that are encrypted', async () => {
    const file = fresh()
    const store = await openWith(file, [first])
    await store.commit([
      { insert: 'thing', id: 'a', value: { name: 'Ada Lovelace' } },
      { insert: 'open', id: 'a', value: { name: 'Student card' } },
    ])
    await store.commit([{ update: 'thing', id: 'a', version: 0, value: { name: 'Ada King' } }])
    const bytes = [file, `${file}-wal`].map((each) => (existsSync(each) ? readFileSync(each, 'latin1') : '')).join()
    expect(bytes.includes('Student card')).toBe(true)
    expect(bytes.includes('Ada')).toBe(false)
    expect(await store.get('thing', 'a')).toEqual({ value: { name: 'Ada King' }, version: 1 })
    await store.close()
  })

  it('encrypts the same value otherwise each time', async () => {
    const file = fresh()
    const store = await openWith(file, [first])
    const value = { name: 'Ada' }
    await store.commit([{ insert: 'thing', id: 'a', value }])
    const before = await valuesIn(file)
    await store.commit([{ update: 'thing', id: 'a', version: 0, value }])
    expect(await valuesIn(file)).not.toEqual(before)
    await store.close()
  })

  it('reads no value that was changed, or put in the place of another', async () => {
    const file = fresh()
    const store = await openWith(file, [first])
    await store.commit(['a', 'b'].map((id) => ({ insert: 'thing', id, value: { name: id } })))
    const Database = await loadDriver()
    const other = new Database(file)
    other.exec("update thing set value = (select value from thing where id = 'a') where id = 'b'")
    await expect(store.get('thing', 'b')).rejects.toThrow()
    await expect(store.list('thing')).rejects.toThrow()
    expect(await store.get('thing', 'a')).toMatchObject({ value: { name: 'a' } })
    other.exec("update thing set value = replace(value, '.', '.AAAA') where id = 'a'")
    await expect(store.get('thing', 'a')).rejects.toThrow()
    other.exec(`update thing set value = '"${first.id}."' where id = 'a'`)
    await expect(store.get('thing', 'a')).rejects.toThrow()
    other.close()
    await store.close()
  })
})

describe('a value that cannot be read', () => {
  it.each([
    ['of another row', [first], "(select value from thing where id = 'b')"],
    ['damaged below its encryption', [first], "'{'"],
    ['damaged in the clear', [], "'{'"],
  ])('keeps none of the other rows from being listed, or from what is to be done: %s', async (_, keys, text) => {
    const file = fresh()
    const store = await openWith(file, keys)
    const dueAt = new Date(1)
    const createdAt = dueAt
    await store.commit(['a', 'b', 'c'].map((id) => ({ insert: 'thing', id, value: { name: id }, dueAt, createdAt })))
    const other = new (await loadDriver())(file)
    other.exec(`update thing set value = ${text} where id = 'a'`)
    other.close()
    const swept = sweep(store, 'thing', new Date(2), {
      changesOf: ({ id, version, value }) =>
        Promise.resolve([{ update: 'thing', id, version, value: { name: `${value.name} again` }, dueAt: null }]),
    })
    await expect(swept).rejects.toThrow()
    expect((await store.get('thing', 'c'))?.value).toEqual({ name: 'c again' })
    expect((await store.listDue('thing', new Date(2), 9)).map(({ id }) => id)).toEqual(['a'])
    const [c, b, a] = await store.listNewest('thing', 3)
    expect([a?.id, b?.value, c?.value]).toEqual(['a', { name: 'b again' }, { name: 'c again' }])
    expect(() => a?.value).toThrow()
    await store.close()
  })
})

describe('the keys of a database', () => {
  it('may come later: what was written before is read, and encrypted when it is written again', async () => {
    const file = fresh()
    const plain = await openWith(file, [])
    await plain.commit(
      ['a', 'b'].map((id) => ({ insert: 'thing', id, value: { name: `Ada ${id}` }, dueAt: new Date(1) })),
    )
    await plain.close()
    const store = await openWith(file, [first])
    expect(await store.get('thing', 'a')).toMatchObject({ value: { name: 'Ada a' } })
    await store.commit([{ update: 'thing', id: 'a', version: 0, value: { name: 'Ada again' } }])
    expect((await store.listDue('thing', new Date(2), 9)).map(({ value }) => value.name)).toEqual([
      'Ada again',
      'Ada b',
    ])
    expect((await valuesIn(file)).map((value) => value.includes('Ada'))).toEqual([false, true])
    await store.close()
  })

  it('cannot be left out, or be others, once something may have been encrypted', async () => {
    const file = fresh()
    await (await openWith(file, [first])).close()
    await expect(openWith(file, [])).rejects.toThrow(
      `the database is encrypted; name the file with its key ${first.id}`,
    )
    const message = `the database is encrypted with the key ${first.id}, which is not in this file; add its line`
    await expect(openWith(file, [second])).rejects.toThrow(message)
    await (await openWith(file, [first])).close()
  })

  it('change: the new one encrypts, and the old one is wanted for as long as values are kept', async () => {
    const file = fresh()
    const before = await openWith(file, [first])
    await before.commit([{ insert: 'thing', id: 'a', value: { name: 'old' } }])
    await before.close()
    const store = await openWith(file, [second, first], 10)
    await store.commit([{ insert: 'thing', id: 'b', value: { name: 'new' } }])
    expect((await store.list('thing')).map(({ value }) => value.name)).toEqual(['old', 'new'])
    await store.close()
    expect((await valuesIn(file)).map((value) => value.slice(1, 13))).toEqual([first.id, second.id])
    await expect(openWith(file, [second], 39)).rejects.toThrow('needed until 1970-02-10')
    // A restart in between does not begin the time anew.
    await (await openWith(file, [second, first], 39)).close()
    const later = await openWith(file, [second], 40)
    expect(await later.get('thing', 'b')).toMatchObject({ value: { name: 'new' } })
    await expect(later.get('thing', 'a')).rejects.toThrow('database.encryptionKeyFile')
    await later.close()
    await expect(openWith(file, [third], 90)).rejects.toThrow(second.id)
  })

  it('that encrypts again after it was replaced is wanted again', async () => {
    const file = fresh()
    for (const keys of [[first], [second, first], [first, second]]) await (await openWith(file, keys)).close()
    await expect(openWith(file, [second, third], 100)).rejects.toThrow(first.id)
  })

  it('are registered once by ten processes that start at once', async () => {
    const file = fresh()
    const stores = await Promise.all(Array.from({ length: 10 }, () => openWith(file, [first])))
    expect(await stores[0]?.list('encryption_key')).toEqual([{ id: first.id, value: {} }])
    await Promise.all(stores.map((store) => store.close()))
  })
})

async function valuesIn(file: string): Promise<string[]> {
  const Database = await loadDriver()
  const database = new Database(file)
  const rows = database.prepare('select value from thing order by id').all()
  database.close()
  return rows.map(({ value }) => String(value))
}
