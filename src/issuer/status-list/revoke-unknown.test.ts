/** The revocation, after a restore, of credentials that nobody knows: which entries it changes, and which it leaves. */
import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { startServices } from '../../../test/support/services.ts'
import { retryOnConflict } from '../../../test/support/store.ts'
import { statusAt } from '../../codec/status-list.ts'
import { END_OF_TIME } from '../../store/store.ts'
import type { IssuerStore } from '../collections.ts'
import type { StoredStatusList } from '../status-rows.ts'
import { readBits } from './chunks.ts'
import { revokeUnknown } from './revoke-unknown.ts'

const ENTRIES = 1024
const list = (generation?: string): StoredStatusList => ({
  ...{ entries: ENTRIES, bits: 2 },
  ...(generation !== undefined && { generation }),
})

/** Makes a store with lists of the earlier and of the present generation, and of a release that named none. */
async function makeStore(restoredAt?: number): Promise<IssuerStore> {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { issuerStore: store } = services
  const generation = { id: 'present', number: 0, origin: 'here', ...(restoredAt !== undefined && { restoredAt }) }
  const space = { generation: 'present', listId: 'nameless-in-use', entries: ENTRIES, next: 64, key: '' }
  await store.commit([
    { insert: 'generation', id: 'current', value: generation },
    { insert: 'status_list', id: 'earlier', value: list('earlier') },
    { insert: 'status_list', id: 'present-full', value: list('present') },
    { insert: 'status_list', id: 'nameless', value: list() },
    { insert: 'status_list', id: 'nameless-in-use', value: list() },
    { insert: 'status_space', id: 'current', value: space },
  ])
  return store
}

const revoke = (store: IssuerStore, ...indexes: readonly number[]) =>
  revokeUnknown({ store, retryOnConflict, random: randomBytes, now: () => new Date(7000) }, (take) => {
    const entries = indexes.map((index) => ({ listId: 'earlier', index, configurationId: 'card' }))
    take({ state: 'VALID', entries })
    return Promise.resolve()
  })

async function readEvents(store: IssuerStore) {
  return (await store.listDue('event', END_OF_TIME, 100)).map(({ value }) => value)
}

async function stateOf(store: IssuerStore, id: string, index: number): Promise<number> {
  return statusAt(await readBits(store, id, list()), 2, index)
}

it('revokes what no credential has, in lists of earlier generations alone', async () => {
  const store = await makeStore(1)
  expect(await revoke(store, 0, 7, 1023)).toEqual([
    { listId: 'earlier', entries: ENTRIES, revoked: ENTRIES - 3 },
    { listId: 'nameless', entries: ENTRIES, revoked: ENTRIES },
  ])
  const states = await Promise.all([0, 1, 7, 8, 1022, 1023].map((index) => stateOf(store, 'earlier', index)))
  expect(states).toEqual([0, 1, 0, 1, 1, 0])
  for (const id of ['present-full', 'nameless-in-use']) expect(await stateOf(store, id, 5)).toBe(0)
})

it('changes nothing a second time, and does more where a credential is not known any more', async () => {
  const store = await makeStore(1)
  await revoke(store, 0, 7)
  const version = (await store.get('status_list', 'earlier'))?.version
  expect(await revoke(store, 0, 7)).toMatchObject([{ revoked: 0 }, { revoked: 0 }])
  expect((await store.get('status_list', 'earlier'))?.version).toBe(version)
  expect(await revoke(store, 0)).toMatchObject([{ revoked: 1 }, { revoked: 0 }])
})

it('records each list of which it revoked entries, and no other', async () => {
  const store = await makeStore(1)
  await revoke(store, 0)
  const type = 'status-list.unknown-revoked'
  const events = ['earlier', 'nameless'].map((subject) => ({ type, at: 7000, subject }))
  expect(await readEvents(store)).toHaveLength(2)
  expect(await readEvents(store)).toEqual(expect.arrayContaining(events))
  await revoke(store, 0)
  expect(await readEvents(store)).toHaveLength(2)
})

it('leaves a list that begins while it looks for them', async () => {
  const store = await makeStore(1)
  const delayed: IssuerStore = {
    ...store,
    list: async (collection) => {
      const rows = await store.list(collection)
      if (collection === 'status_list')
        await store.commit([{ insert: 'status_list', id: 'new', value: list('present') }])
      return rows
    },
  }
  expect((await revoke(delayed)).map(({ listId }) => listId)).toEqual(['earlier', 'nameless'])
  expect(await stateOf(store, 'new', 5)).toBe(0)
})

it('leaves lists that name no generation in a database that was never restored', async () => {
  const store = await makeStore()
  expect((await revoke(store)).map(({ listId }) => listId)).toEqual(['earlier'])
})
