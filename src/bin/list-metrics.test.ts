import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { measureLists } from './list-metrics.ts'

it('says which list ends first and which is oldest, of those that are still served', async () => {
  const registry = new Registry()
  let now = new Date(0)
  const at = (hours: number) => new Date(hours * 3_600_000)
  const listSigned = measureLists('i_', registry, () => now)
  expect(await registry.metrics()).not.toMatch(/^i_/m)
  listSigned('a/jwt', { issuedAt: at(0), expiresAt: at(24) })
  listSigned('b/jwt', { issuedAt: at(1), expiresAt: at(3) })
  now = at(2)
  const text = await registry.metrics()
  expect(text).toContain('i_status_list_expires_seconds 3600\n')
  expect(text).toContain('i_status_list_age_seconds 7200\n')
  listSigned('b/jwt', { issuedAt: at(2), expiresAt: at(26) })
  now = at(13)
  expect(await registry.metrics()).toContain('i_status_list_age_seconds 39600\n')
})
