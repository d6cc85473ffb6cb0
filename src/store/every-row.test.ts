import { expect, it, onTestFinished } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { changeEveryRow, readEveryRow } from './every-row.ts'
import { addCreationTime, createCollection } from './store.ts'

it.each([0, 99, 100, 101, 250])('reads and changes each of %i rows once', async (count) => {
  const statements = [...createCollection('thing'), ...addCreationTime('thing')]
  const store = await openTestStore<{ thing: number }>([{ id: '1', statements }])
  onTestFinished(() => store.close())
  const numbers = Array.from({ length: count }, (_, n) => n)
  // Some are of one moment.
  const rows = numbers.map((n) => {
    return { insert: 'thing', id: String(n), value: n, createdAt: new Date(Math.floor(n / 7)) } as const
  })
  if (count > 0) await store.commit(rows)
  const read: number[] = []
  for await (const { value } of readEveryRow(store, 'thing')) read.push(value)
  const changed: number[] = []
  const changedCount = await changeEveryRow(store, 'thing', ({ value }) => {
    changed.push(value)
    return Promise.resolve(value % 2 === 0)
  })
  const sorted = (values: readonly number[]) => values.toSorted((one, other) => one - other)
  expect([sorted(read), sorted(changed), changedCount]).toEqual([numbers, numbers, Math.ceil(count / 2)])
})
