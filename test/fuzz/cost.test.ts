/** The short form of the search for requests that cost more processor time than their size is worth. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TIMES } from '../support/seeds.ts'
import { costTargets, searchCost } from './cost.ts'
import { knownCosts } from './cost-known.ts'
import { costOf, measure } from './cost-measure.ts'
import { type CostWorld, startCostWorld } from './cost-world.ts'

describe('the processor time of a request', () => {
  let world: CostWorld
  beforeAll(async () => {
    world = await startCostWorld()
  })
  afterAll(() => world.close())

  it.each(knownCosts)('is worth its size with %s', async (_, name, growths) => {
    const target = costTargets.find((each) => each.name === name)
    if (target === undefined) throw new Error(`no endpoint ${name}`)
    const ratio = await costOf(world, target, growths)
    // Nothing is what a request has cost that could not be made.
    expect([ratio > 0, ratio <= 1, ratio]).toEqual([true, true, ratio])
  })

  it('is found where it grows with the square of the size', async () => {
    const [, , growths] = knownCosts.find(([what]) => what === 'many elements that the device may state') ?? []
    const target = costTargets.find(({ name }) => name === 'verifier encrypted response, mso_mdoc')
    if (target === undefined || growths === undefined) throw new Error('no such request')
    const send: CostWorld['send'] = (request) => {
      const body = Buffer.from(request.body ?? '').subarray(0, 12_000)
      let equal = 0
      for (const one of body) for (const other of body) if (one === other) equal += 1
      return world.send({ ...request, headers: { ...request.headers, 'x-equal': String(equal) } })
    }
    expect((await measure({ ...world, send }, target, growths)).ratio).toBeGreaterThan(1)
  })

  it.each(costTargets)('is measured of what $name answers as it should', async (target) => {
    const { statusCode } = await world.send(await target.make(world, []))
    expect(statusCode).toBeLessThan(target.isRefused ? 500 : 400)
  })
})

it('finds no costly request in its short form', async () => {
  const { requests, findings } = await searchCost({ rounds: 2 * TIMES, seed: 20_261_123, known: [] })
  expect(findings).toEqual([])
  expect(requests).toBeGreaterThan(costTargets.length * (3 + TIMES))
}, 600_000)
