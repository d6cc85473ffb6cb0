import { expect, it } from 'vitest'
import { openTestStore } from '../../test/support/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'
import { createFences } from './fence.ts'

const CONTRACT = `00${'a1'.repeat(20)}`

it('a fence does not stand once it is forgotten, that of a contract that stored nothing yet included', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const fences = createFences(store)
  const fence = await fences.of(CONTRACT)
  expect(await fences.stands(CONTRACT, fence)).toBe(true)
  fences.forget(CONTRACT)
  expect(await fences.stands(CONTRACT, fence)).toBe(false)
  await store.close()
})
