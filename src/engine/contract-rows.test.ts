import { expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'
import { cacheContractRows } from './contract-rows.ts'

const CONTRACT = `00${'a1'.repeat(20)}`

it('a fence does not stand once it is forgotten, that of a contract that stored nothing yet included', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const fences = cacheContractRows(store)
  const fence = await fences.get(CONTRACT)
  expect(await fences.isCurrent(CONTRACT, fence)).toBe(true)
  fences.forget(CONTRACT)
  expect(await fences.isCurrent(CONTRACT, fence)).toBe(false)
  await store.close()
})
