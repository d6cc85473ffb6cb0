import { describe, expect, it } from 'vitest'
import { createEffectCollector } from './effects.ts'
import { DEFAULT_LIMITS, type RuntimeLimits } from './runtime.ts'

const MIB = 1024 * 1024

/** Stores values of the length under these keys, and returns the error. */
function store(keys: readonly number[], length: number, limits: RuntimeLimits = DEFAULT_LIMITS): string | undefined {
  const effects = createEffectCollector(limits)
  const [bucket, value] = [new Uint8Array(), new Uint8Array(length)]
  try {
    for (const key of keys) effects.store({ bucket, key: Uint8Array.of(key), value })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('what a worker holds for a call', () => {
  it('is never so many objects that its heap has no room, however much memory the operator allows', () => {
    const { reserveBytes } = createEffectCollector({ ...DEFAULT_LIMITS, memoryBytes: 4096 * MIB })
    for (let count = 0; count < 200_000; count += 1) reserveBytes(0)
    expect(() => reserveBytes(0)).toThrow('more than 200000 values')
  })
})

describe('the values that a call stores', () => {
  it('are so few bytes together that the engine commits them in a moment', () => {
    expect(store([1, 2, 3, 4, 5, 6, 7, 8], MIB - 1)).toBe(undefined)
    expect(store([1, 2, 3, 4, 5, 6, 7, 8, 9], MIB - 1)).toBe(
      'the call stores too many bytes: 9437184; the most are 8388608',
    )
  })

  it('count once when one takes the place of another', () => {
    expect(store(Array<number>(20).fill(1), MIB - 1)).toBe(undefined)
  })

  it('may be as large as the operator allows a single one', () => {
    const limits = { ...DEFAULT_LIMITS, storageValueBytes: 20 * MIB }
    expect(store([1], 20 * MIB, limits)).toBe(undefined)
    expect(store([1, 2], 20 * MIB, limits)).toMatch(/too many bytes/)
  })
})

it('a signed request that a call asks about twice is accepted once, so that its engine can store its id', () => {
  const effects = createEffectCollector(DEFAULT_LIMITS)
  const [one, other] = ['one', 'other'].map((id) => ({ id, until: new Date(0), unlessRefused: false }))
  for (const request of [one, other, one]) if (request) effects.spend(request)
  expect(effects.finish()).toMatchObject({ spentRequests: [one, other] })
})
