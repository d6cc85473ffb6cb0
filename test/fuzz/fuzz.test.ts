import { describe, expect, it } from 'vitest'
import { TIMES } from '../support/seeds.ts'
import { fuzz } from './fuzz.ts'
import { mutateJson, mutateStructured, seededRandom } from './mutate.ts'

describe('the fuzzer', () => {
  it('finds no 5xx, no foreign error body and no write on a refusal in its short form', async () => {
    const seed = 20_260_801
    const { problems, requests, statuses } = await fuzz({ count: 4 * TIMES, seed })
    expect(problems).toEqual([])
    expect(requests).toBeGreaterThan(200 * TIMES)
    // The search reaches what lies behind each of these, and does not only bounce off the door.
    for (const status of [200, 201, 204, 400, 401, 404, 405, 415]) {
      expect([status, (statuses[status] ?? 0) > 0]).toEqual([status, true])
    }
  }, 600_000)

  it('repeats itself by its seed', () => {
    const values = (seed: number) => {
      const random = seededRandom(seed)
      return Array.from({ length: 200 }, () => [
        mutateJson(random, { a: [1, 'b'], c: { d: null } }),
        mutateStructured(random, 'eyJhIjoxfQ.eyJhIjoxfQ.AAAA'),
      ])
    }
    expect(values(1)).toEqual(values(1))
    expect(values(1)).not.toEqual(values(2))
  })
})
