import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registerListMetrics } from './list-metrics.ts'

it('says which list ends first and which is oldest, of those that are still served', async () => {
  const registry = new Registry()
  let now = new Date(0)
  const at = (hours: number) => new Date(hours * 3_600_000)
  const recordSignedList = registerListMetrics('i_', registry, () => now)
  expect(await registry.metrics()).not.toMatch(/^i_/m)
  recordSignedList('a/jwt', { issuedAt: at(0), expiresAt: at(24), servedUntil: at(12) })
  recordSignedList('b/jwt', { issuedAt: at(1), expiresAt: at(3), servedUntil: at(13) })
  now = at(2)
  const text = await registry.metrics()
  expect(text).toContain('i_status_list_expires_seconds 3600\n')
  expect(text).toContain('i_status_list_age_seconds 7200\n')
  recordSignedList('b/jwt', { issuedAt: at(2), expiresAt: at(26), servedUntil: at(14) })
  now = at(13)
  expect(await registry.metrics()).toContain('i_status_list_age_seconds 39600\n')
})
