import { expect, it, onTestFinished } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { createCollection } from './store.ts'
import { sweep } from './sweep.ts'

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
