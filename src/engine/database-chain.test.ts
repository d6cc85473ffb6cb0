import { expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'
import { claimDatabase } from './database-chain.ts'

it('a database takes the id of the first chain that uses it, and names that to another', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  expect(await claimDatabase(store, '1')).toBe('1')
  expect(await claimDatabase(store, '1')).toBe('1')
  expect(await claimDatabase(store, '5')).toBe('1')
  expect((await store.list('chain')).map(({ value }) => value)).toEqual([{ id: '1' }])
  await store.close()
})
