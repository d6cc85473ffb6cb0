import { expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'
import { cacheContractRows } from './contract-rows.ts'

const CONTRACT = `00${'a1'.repeat(20)}`

it('a row is not current once it is forgotten, that of a contract that stored nothing yet included', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const rows = cacheContractRows(store)
  const row = await rows.get(CONTRACT)
  expect(await rows.isCurrent(CONTRACT, row)).toBe(true)
  rows.forget(CONTRACT)
  expect(await rows.isCurrent(CONTRACT, row)).toBe(false)
  await store.close()
})
