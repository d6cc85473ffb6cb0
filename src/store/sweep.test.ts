import { expect, it, onTestFinished } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { createCollection } from './store.ts'
import { purgeSpent, sweep } from './sweep.ts'

/** Opens a store with rows that are named by their number, and are due one millisecond after the other. */
async function openStoreOfDueRows(count: number) {
  const store = await openTestStore<{ thing: string }>([{ id: '1', statements: createCollection('thing') }])
  onTestFinished(() => store.close())
  await store.commit(
    Array.from(
      { length: count },
      (_, n) => ({ insert: 'thing', id: String(n), value: '', dueAt: new Date(n) }) as const,
    ),
  )
  return store
}

it('reports how many rows it has deleted, also when the changes of another row fail', async () => {
  const store = await openTestStore<{ thing: string }>([{ id: '1', statements: createCollection('thing') }])
  onTestFinished(() => store.close())
  for (const id of ['a', 'b', 'c', 'kept']) {
    await store.commit([{ insert: 'thing', id, value: id, dueAt: new Date(id === 'kept' ? 9 : 1) }])
  }
  const reported: number[] = []
  const sweepOnce = () =>
    sweep(store, 'thing', new Date(2), {
      changesOf: ({ id, version }) =>
        id === 'b' ? Promise.reject(new Error('b fails')) : Promise.resolve([{ delete: 'thing', id, version }]),
      reportDeleted: (rows) => reported.push(rows),
    })
  await expect(sweepOnce()).rejects.toThrow('b fails')
  await expect(sweepOnce()).rejects.toThrow('b fails')
  expect(reported).toEqual([2])
})

it('passes over more rows that fail than a round has, and rejects with the first', async () => {
  const store = await openStoreOfDueRows(200)
  const sweeping = sweep(store, 'thing', new Date(1000), {
    changesOf: ({ id, version }) =>
      Number(id) < 60 ? Promise.reject(new Error(`${id} fails`)) : Promise.resolve([{ delete: 'thing', id, version }]),
  })
  await expect(sweeping).rejects.toThrow('0 fails')
  expect((await store.list('thing')).map(({ id }) => Number(id)).sort((one, other) => one - other)).toEqual(
    Array.from({ length: 60 }, (_, n) => n),
  )
})

it('ends where no row can be changed', async () => {
  const store = await openStoreOfDueRows(700)
  let attempts = 0
  const changesOf = () => {
    attempts += 1
    return Promise.reject(new Error('the disk is full'))
  }
  await expect(sweep(store, 'thing', new Date(1000), { changesOf })).rejects.toThrow('the disk is full')
  expect(attempts).toBe(500)
})

it('reports no rows of other collections, which go with those of its own', async () => {
  const tables = ['thing', 'part'].flatMap((name) => createCollection(name))
  const store = await openTestStore<{ thing: string; part: string }>([{ id: '1', statements: tables }])
  onTestFinished(() => store.close())
  const dueAt = new Date(1)
  await store.commit([
    { insert: 'thing', id: 'a', value: '', dueAt },
    { insert: 'thing', id: 'b', value: '', dueAt },
    { insert: 'part', id: 'of b', value: '' },
  ])
  const reported: number[] = []
  await sweep(store, 'thing', new Date(2), {
    changesOf: ({ id, version }) => {
      if (id === 'a') return Promise.resolve([{ delete: 'thing', id, version }])
      return Promise.resolve([
        { update: 'thing', id, version, value: 'without its part', dueAt: null },
        { delete: 'part', id: 'of b', version: 0 },
      ])
    },
    reportDeleted: (rows) => reported.push(rows),
  })
  expect([reported, await store.list('part')]).toEqual([[1], []])
})

it('ends where every row of a full round was changed by another process', async () => {
  const store = await openStoreOfDueRows(60)
  let rounds = 0
  const listDue: typeof store.listDue = (...range) => {
    rounds += 1
    return store.listDue(...range)
  }
  await sweep({ ...store, listDue }, 'thing', new Date(1000), {
    changesOf: ({ id, version }) => Promise.resolve([{ delete: 'thing', id, version: version + 1 }]),
  })
  expect([rounds, (await store.list('thing')).length]).toEqual([1, 60])
})

it('deletes records of single-use values ten minutes after their time, for requests that began before', async () => {
  const store = await openTestStore<{ thing: string }>([{ id: '1', statements: createCollection('thing') }])
  onTestFinished(() => store.close())
  await store.commit([{ insert: 'thing', id: 'spent', value: '', dueAt: new Date(1000) }])
  const left = async (ms: number): Promise<number> => {
    await purgeSpent(store, 'thing', new Date(ms))
    return (await store.list('thing')).length
  }
  expect([await left(600_999), await left(601_001)]).toEqual([1, 0])
})
