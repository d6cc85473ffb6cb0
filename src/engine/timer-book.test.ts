import { describe, expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'
import { createTimerBook } from './timer-book.ts'

const CONTRACT = `00${'a1'.repeat(20)}`

describe('timers that are read anew', () => {
  it('have those among them that are written meanwhile', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const listDue: typeof store.listDue = async (...asked) => {
      const rows = await store.listDue(...asked)
      await gate
      return rows
    }
    const book = createTimerBook({ ...store, listDue }, () => 0)
    const loaded = book.load()
    const plan = book.plan(CONTRACT, [{ id: 1, delayMs: 1000, payload: new Uint8Array(0) }], new Date(0))
    expect(await store.commit(plan.changes)).toBeUndefined()
    plan.apply()
    release()
    await loaded
    expect(book.list(CONTRACT)).toEqual([{ id: 1, status: 'scheduled' }])
    await store.close()
  })
})

it('a timer that is read anew, and is as it was, is the same', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const book = createTimerBook(store, () => 0)
  const plan = book.plan(CONTRACT, [{ id: 1, delayMs: 1000, payload: new Uint8Array(0) }], new Date(0))
  expect(await store.commit(plan.changes)).toBeUndefined()
  plan.apply()
  const before = book.get(CONTRACT, 1)
  await book.load()
  expect(before).toMatchObject({ id: 1 })
  expect(book.get(CONTRACT, 1)).toBe(before)
  await store.close()
})

it('a timer that is cancelled while its run waits is not told as running', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const book = createTimerBook(store, () => 0)
  const commit = async (effects: Parameters<typeof book.plan>[1]): Promise<void> => {
    const plan = book.plan(CONTRACT, effects, new Date(0))
    expect(await store.commit(plan.changes)).toBeUndefined()
    plan.apply()
  }
  await commit([{ id: 1, delayMs: 0, payload: new Uint8Array(0) }])
  book.markRunning(CONTRACT, 1, true)
  expect(book.list(CONTRACT)).toEqual([{ id: 1, status: 'running' }])
  await commit([{ id: 1, cancel: true }])
  expect(book.list(CONTRACT)).toEqual([{ id: 1, status: 'cancelled' }])
  await store.close()
})

describe('timers that are over', () => {
  async function openBook() {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    const book = createTimerBook(store, () => 0)
    const now = new Date(1_700_000_000_000)
    const commit = async (effects: Parameters<typeof book.plan>[1]): Promise<void> => {
      const plan = book.plan(CONTRACT, effects, now)
      expect(await store.commit(plan.changes)).toBeUndefined()
      plan.apply()
    }
    return { store, book, now, commit }
  }

  it('are remembered, but never more than some of each contract', async () => {
    const { store, book, commit } = await openBook()
    const ids = Array.from({ length: 20 }, (_, id) => id)
    for (let round = 0; round < 10; round += 1) {
      await commit(ids.map((id) => ({ id: round * 20 + id, delayMs: 1000, payload: new Uint8Array(0) })))
      await commit(ids.map((id) => ({ id: round * 20 + id, cancel: true })))
    }
    expect(book.list(CONTRACT).length).toBeLessThanOrEqual(64)
    expect(await store.list('timer')).toHaveLength(book.list(CONTRACT).length)
    expect(book.list(CONTRACT).at(-1)).toEqual({ id: 199, status: 'cancelled' })
    await store.close()
  })

  it('are forgotten in the order in which they ended, and not in which they began', async () => {
    const { store, book, now, commit } = await openBook()
    const ids = Array.from({ length: 70 }, (_, id) => id)
    await commit(ids.map((id) => ({ id, delayMs: 1000, payload: new Uint8Array(0) })))
    for (const id of ids.toReversed()) {
      const plan = book.plan(CONTRACT, [{ id, cancel: true }], new Date(now.getTime() + 70 - id))
      expect(await store.commit(plan.changes)).toBeUndefined()
      plan.apply()
    }
    expect(book.list(CONTRACT).map(({ id }) => id)).toEqual(ids.slice(0, 64))
    await store.close()
  })

  it('are deleted a day later, however many others are overdue', async () => {
    const { store, book, now, commit } = await openBook()
    await commit(Array.from({ length: 1001 }, (_, id) => ({ id, delayMs: 1000, payload: new Uint8Array(0) })))
    await commit([{ id: 1000, cancel: true }])
    await book.purge(new Date(now.getTime() + 3_600_000))
    expect(await store.list('timer')).toHaveLength(1001)
    await book.purge(new Date(now.getTime() + 25 * 3_600_000))
    expect([await store.list('timer'), book.list(CONTRACT)].map((rows) => rows.length)).toEqual([1000, 1000])
    await store.close()
  })
})
