import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeTimeOrderedId } from './time-ordered-id.ts'

const bytesOf = (id: string) => Buffer.from(id, 'latin1')

describe('an id by time', () => {
  it('has the order of the times, down to the millisecond', () => {
    const start = Date.UTC(2026, 10, 26)
    const times = [0, 1, 2, 63, 64, 65, 4095, 4096, 86_400_000, 1e10, 1e12].map((more) => start + more)
    const ids = times.map((time) => makeTimeOrderedId(time, randomBytes(18)))
    expect(ids.toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)))).toEqual(ids)
  })

  it('is safe in a path and as an argument, and has all the random bytes', () => {
    const id = makeTimeOrderedId(Date.UTC(2026, 10, 26), new Uint8Array(18).fill(255))
    expect(id).toMatch(/^[A-Za-z][\w-]{6}_{24}$/)
  })

  it('differs for two rows of one millisecond', () => {
    const ids = Array.from({ length: 100 }, () => makeTimeOrderedId(1_795_000_000_000, randomBytes(10)))
    expect(new Set(ids).size).toBe(100)
  })
})
