import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { openTestStore, retryOnConflict } from '../../test/support/store.ts'
import type { SessionProgress } from '../progress/session-progress.ts'
import { type IssuerCollections, issuerMigrations } from './collections.ts'
import { createIssuanceProgress } from './issuance-progress.ts'

const RETENTION = { personalDataSeconds: 0, sessionSeconds: 100 }
const NOW = 1_800_000_000_000

const refusal = (at: number, more: object = {}): SessionProgress => ({
  problem: { endpoint: 'token', error: 'invalid_grant', description: 'no', count: 1, at, ...more },
})

async function started() {
  const store = await openTestStore<IssuerCollections>(issuerMigrations)
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const insert = async () => {
    const id = randomBytes(16).toString('hex')
    const value = { configurationIds: [], createdAt: NOW, expiresAt: NOW + 1000, issued: [] }
    await store.commit([{ insert: 'issuance_session', id, value }])
    return id
  }
  const recorder = () => createIssuanceProgress({ store, retryOnConflict, log }, RETENTION)
  return { store, lines, insert, recorder, rows: () => store.list('issuance_progress') }
}

describe('the progress of a session', () => {
  it('is one row, whatever comes and at however many processes', async () => {
    const { store, insert, recorder, rows } = await started()
    const id = await insert()
    const processes = [recorder(), recorder()]
    for (let count = 0; count < 100; count++) processes[count % 2]?.add(id, refusal(count))
    processes[0]?.add(id, { offerFetchedAt: 7 })
    await Promise.all(processes.map((each) => each.finish()))
    const [row, ...more] = await rows()
    expect(more).toEqual([])
    expect(row).toMatchObject({ id, value: { offerFetchedAt: 7, problem: { count: 100 } } })
    expect(await recorder().read(id)).toEqual(row?.value)
    await store.close()
  })

  it('is not kept under an id that is longer than ours are, as a token of a stranger may name', async () => {
    const { store, recorder } = await started()
    const one = recorder()
    const [longest, longer] = ['x'.repeat(64), 'x'.repeat(65)]
    for (const id of [longest, longer]) one.addIfExists(id, { offerFetchedAt: 7 })
    expect([longest, longer].map((id) => one.getUnwritten(id).offerFetchedAt)).toEqual([7, undefined])
    await one.finish()
    await store.close()
  })

  it('waits within its bounds while the database stands still', async () => {
    const { store, insert, recorder, rows } = await started()
    const [first, second] = [await insert(), await insert()]
    let goOn = (): void => undefined
    const standstill = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const read = store.get.bind(store)
    store.get = async (collection, id) => {
      await standstill
      return read(collection, id)
    }
    const one = recorder()
    one.add(first, { offerFetchedAt: 7 })
    const writes = [one.finish()]
    await new Promise((resolve) => setImmediate(resolve))
    one.add(second, { offerFetchedAt: 8 })
    writes.push(one.finish())
    await new Promise((resolve) => setImmediate(resolve))
    expect([one.getUnwritten(first).offerFetchedAt, one.getUnwritten(second).offerFetchedAt]).toEqual([undefined, 8])
    goOn()
    await Promise.all(writes)
    expect([one.getUnwritten(second).offerFetchedAt, (await rows()).length]).toEqual([undefined, 2])
    await store.close()
  })

  it('is known before it is written', async () => {
    const { store, insert, recorder, rows } = await started()
    const [id, one] = [await insert(), recorder()]
    one.add(id, { offerFetchedAt: 7 })
    one.add(id, refusal(8))
    expect(await one.read(id)).toMatchObject({ offerFetchedAt: 7, problem: { at: 8, count: 1 } })
    expect(await rows()).toEqual([])
    await one.finish()
    expect(await rows()).toHaveLength(1)
    await store.close()
  })

  it('is known while it is being written, to a reader that has the row of before, and is counted once', async () => {
    const { store, insert, recorder } = await started()
    const [id, one] = [await insert(), recorder()]
    let goOn = (): void => undefined
    let standstill: Promise<void> | undefined = new Promise((resolve) => {
      goOn = resolve
    })
    const read = store.get.bind(store)
    store.get = async (collection, key) => {
      const row = await read(collection, key)
      const pause = standstill
      standstill = undefined
      await pause
      return row
    }
    one.add(id, refusal(1))
    const reading = one.read(id)
    await new Promise((resolve) => setImmediate(resolve))
    const writing = one.finish()
    const laterReading = one.read(id)
    await new Promise((resolve) => setImmediate(resolve))
    goOn()
    expect((await Promise.all([reading, laterReading])).map(({ problem }) => problem?.count)).toEqual([1, 1])
    await writing
    expect((await one.read(id)).problem?.count).toBe(1)
    await store.close()
  })

  it('keeps the first fetch of the offer, and counts anew where the refusal is another', async () => {
    const { store, insert, recorder } = await started()
    const [id, one] = [await insert(), recorder()]
    for (const progress of [{ offerFetchedAt: 7 }, refusal(8), refusal(9), { offerFetchedAt: 10 }]) {
      one.add(id, progress)
      await one.finish()
    }
    expect(await one.read(id)).toMatchObject({ offerFetchedAt: 7, problem: { at: 9, count: 2 } })
    one.add(id, refusal(11, { error: 'invalid_request' }))
    expect(await one.read(id)).toMatchObject({ offerFetchedAt: 7, problem: { at: 11, count: 1 } })
    await one.finish()
    await store.close()
  })

  it('leaves no row where the fetch was written with the session', async () => {
    const { store, insert, recorder, rows } = await started()
    const [id, one] = [await insert(), recorder()]
    one.add(id, { offerFetchedAt: 7 })
    expect(one.getUnwritten(id).offerFetchedAt).toBe(7)
    one.forgetUnwrittenFetch(id)
    await one.finish()
    expect([one.getUnwritten(id).offerFetchedAt, await rows()]).toEqual([undefined, []])
    await store.close()
  })

  it('is kept for ten thousand ids at most that are not looked up yet, and for those that are none of a session not at all', async () => {
    const { store, recorder, rows } = await started()
    const one = recorder()
    for (let count = 0; count <= 10_000; count++) one.addIfExists(`unknown-${count}`, { offerFetchedAt: 7 })
    expect([9_999, 10_000].map((count) => one.getUnwritten(`unknown-${count}`).offerFetchedAt)).toEqual([7, undefined])
    await expect.poll(() => one.getUnwritten('unknown-9999').offerFetchedAt).toBe(undefined)
    await one.finish()
    expect(await rows()).toEqual([])
    await store.close()
  })

  it('is looked up no more where there is no such session', async () => {
    const { store, recorder } = await started()
    const read = store.get.bind(store)
    const looks: Promise<unknown>[] = []
    const collections: string[] = []
    store.get = (collection, id) => {
      collections.push(collection)
      const row = read(collection, id)
      looks.push(row)
      return row
    }
    const one = recorder()
    for (let count = 0; count < 3; count++) one.addIfExists(`unknown-${count}`, refusal(count))
    await Promise.all(looks)
    await new Promise((resolve) => setImmediate(resolve))
    await one.finish()
    expect(collections).toEqual(Array(3).fill('issuance_session'))
    await store.close()
  })

  it('is not crowded out by ids that are made up', async () => {
    const { store, insert, recorder, rows } = await started()
    const [known, refused, fetched, one] = [await insert(), await insert(), await insert(), recorder()]
    one.addIfExists(known, refusal(1))
    for (let count = 0; count < 9_999; count++) one.addIfExists(`unknown-${count}`, refusal(count))
    // While all of them are looked up, a session that is known to exist finds room.
    one.add(fetched, { offerFetchedAt: 7 })
    one.addIfExists(known, refusal(2))
    await expect.poll(() => one.read('unknown-9998')).toEqual({})
    one.addIfExists(refused, refusal(1))
    await one.finish()
    const written = Object.fromEntries((await rows()).map(({ id, value }) => [id, value.problem?.count]))
    expect(written).toEqual({ [known]: 2, [fetched]: undefined, [refused]: 1 })
    await store.close()
  })

  it('goes with its session', async () => {
    const { store, insert, recorder, rows } = await started()
    const [id, one] = [await insert(), recorder()]
    one.add(id, refusal(1))
    await one.finish()
    await store.purge('issuance_progress', new Date(NOW + 100_999))
    expect(await rows()).toHaveLength(1)
    await store.purge('issuance_progress', new Date(NOW + 101_000))
    expect(await rows()).toEqual([])
    await store.close()
  })

  it('that cannot be written is logged, and the service goes on', async () => {
    const { store, insert, recorder, lines } = await started()
    const [id, one] = [await insert(), recorder()]
    await store.close()
    one.add(id, refusal(1))
    await one.finish()
    expect(lines.join()).toContain('progress_not_written')
  })
})
