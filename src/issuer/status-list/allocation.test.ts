import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTestStore, retryOnConflict } from '../../../test/support/store.ts'
import { type IssuerCollections, issuerMigrations } from '../collections.ts'
import { createEntryAllocator, permute } from './allocation.ts'

const key = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')

/** The numbers for 0, 1, 2, 3 and the last, below 2^10, 2^17 and 2^20. */
const VECTORS = [
  [395, 966, 506, 917, 148],
  [102_441, 76_020, 97_026, 45_388, 80_026],
  [853_892, 915_224, 1_004_081, 670_800, 395_893],
]

/** Computes the same network in another way: halves as texts of bits, swapped after each round. */
function byHand(counter: number, bits: number): number {
  const low = Math.ceil(bits / 2)
  const text = counter.toString(2).padStart(bits, '0')
  let halves = [text.slice(0, bits - low), text.slice(bits - low)] as [string, string]
  for (let round = 0; round < 8; round++) {
    const [target, other] = round % 2 === 0 ? halves : ([halves[1], halves[0]] as const)
    const half = Number.parseInt(other, 2)
    const input = Buffer.concat([
      key,
      Uint8Array.of(round, half >>> 24, (half >>> 16) & 255, (half >>> 8) & 255, half & 255),
    ])
    const mask = createHash('sha256').update(input).digest('hex').slice(0, 8)
    const maskBits = Number.parseInt(mask, 16).toString(2).padStart(32, '0').slice(-target.length)
    const mixed = Array.from(target, (bit) => bit)
      .map((bit, at) => (bit === maskBits[at] ? '0' : '1'))
      .join('')
    halves = round % 2 === 0 ? [mixed, halves[1]] : [halves[0], mixed]
  }
  return Number.parseInt(halves.join(''), 2)
}

describe('the permutation of indices', () => {
  it.each([2, 3, 10, 11, 13, 17])('gives every number below 2^%i, each once', (bits) => {
    const size = 2 ** bits
    const seen = new Uint8Array(size)
    for (let counter = 0; counter < size; counter++) {
      const place = permute(counter, size, key)
      seen[place] = (seen[place] ?? 0) + 1
    }
    expect(seen.every((times) => times === 1)).toBe(true)
  })

  it('is this one, since the lists of a database depend on it', () => {
    const of = (bits: number) => [0, 1, 2, 3, 2 ** bits - 1].map((counter) => permute(counter, 2 ** bits, key))
    expect([of(10), of(17), of(20)]).toEqual([
      [0, 1, 2, 3, 1023].map((counter) => byHand(counter, 10)),
      [0, 1, 2, 3, 131_071].map((counter) => byHand(counter, 17)),
      [0, 1, 2, 3, 1_048_575].map((counter) => byHand(counter, 20)),
    ])
    expect([of(10), of(17), of(20)]).toEqual(VECTORS)
  })

  it('is another one for another key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (other) => {
        fc.pre(!key.equals(other))
        const places = (by: Uint8Array) => Array.from({ length: 64 }, (_, counter) => permute(counter, 2 ** 17, by))
        const ours = places(key)
        expect(places(other).filter((place, at) => place === ours[at]).length).toBeLessThan(4)
      }),
      { seed: 1, numRuns: 100 },
    )
  })

  it('puts neighbours nowhere near each other, more than chance does', () => {
    const size = 2 ** 17
    const places = Array.from({ length: 4096 }, (_, counter) => permute(counter, size, key))
    const near = places.filter((place, at) => at > 0 && Math.abs(place - (places[at - 1] as number)) < size / 64)
    // About a thirty-second part is near by chance.
    expect(near.length).toBeGreaterThan(64)
    expect(near.length).toBeLessThan(256)
    // All the list is used from the beginning: of 64 parts, each has its share.
    const shares = new Array<number>(64).fill(0)
    for (const place of places)
      shares[Math.floor(place / (size / 64))] = (shares[Math.floor(place / (size / 64))] ?? 0) + 1
    expect(Math.min(...shares)).toBeGreaterThan(30)
    expect(Math.max(...shares)).toBeLessThan(110)
  })

  it.each([
    [-1, 1024],
    [1024, 1024],
    [0.5, 1024],
    [0, 1000],
    [0, 2],
    [0, 2 ** 31],
    [Number.NaN, 1024],
  ])('has no place for %d below %d', (counter, size) => {
    expect(() => permute(counter, size, key)).toThrow(RangeError)
  })
})

describe('the entries of a list', () => {
  it('are as many as the setting says from its change on', async () => {
    const store = await openTestStore<IssuerCollections>(issuerMigrations)
    onTestFinished(() => store.close())
    const effects = { store, now: () => new Date(), random: randomBytes, retryOnConflict }
    const sizes: unknown[] = []
    for (const entries of [1024, 2048, 1024, 1024]) {
      const allocate = createEntryAllocator(effects, entries, () => ({ current: { kid: 'a' }, oldest: { kid: 'a' } }))
      const [entry] = await allocate(1)
      sizes.push((await store.get('status_list', entry?.listId ?? ''))?.value.entries)
    }
    expect([sizes, (await store.list('status_list')).length]).toEqual([[1024, 2048, 1024, 1024], 3])
  })
})

describe('the entries of processes with different keys', () => {
  it('are of one list for each key, however the processes take turns', async () => {
    const store = await openTestStore<IssuerCollections>(issuerMigrations)
    onTestFinished(() => store.close())
    const effects = { store, now: () => new Date(), random: randomBytes, retryOnConflict }
    const lists = new Set<string>()
    const places = new Set<string>()
    for (let turn = 0; turn < 3; turn++) {
      for (const kid of ['old', 'new']) {
        const allocate = createEntryAllocator(effects, 1024, () => ({ current: { kid }, oldest: { kid: 'old' } }))
        for (const { listId, index } of await allocate(70)) {
          lists.add(`${kid} ${listId}`)
          places.add(`${listId} ${index}`)
        }
      }
    }
    expect([lists.size, places.size]).toEqual([2, 6 * 70])
  })
})
