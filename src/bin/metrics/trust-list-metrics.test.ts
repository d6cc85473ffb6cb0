import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registerTrustListMetrics } from './trust-list-metrics.ts'

const NOW = new Date('2026-11-30T12:00:00Z')
const linesOf = async (
  readEnds: () => Promise<ReadonlyMap<string, number | undefined>>,
): Promise<readonly string[]> => {
  const registry = new Registry()
  registerTrustListMetrics('x_', registry, readEnds, () => NOW)
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('x_'))
}

it('each trust list has the time until its end, which is 0 before the first and negative afterwards', async () => {
  const ends = new Map([
    ['https://a.example', NOW.getTime() + 90_000],
    ['https://b.example', undefined],
    ['https://c.example', NOW.getTime() - 1000],
  ])
  expect(await linesOf(() => Promise.resolve(ends))).toEqual([
    'x_trust_list_ends_seconds{list="https://a.example"} 90',
    'x_trust_list_ends_seconds{list="https://b.example"} 0',
    'x_trust_list_ends_seconds{list="https://c.example"} -1',
  ])
})

it('no trust list has a value while the database cannot be read', async () => {
  expect(await linesOf(() => Promise.reject(new Error('away')))).toEqual([])
})
