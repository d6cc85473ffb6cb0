import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { capacityOf, setStatus, statusAt } from './status-list.ts'

describe('the bits of a status list', () => {
  // Token Status List, Compressed Byte Array: the examples for 1 and 2 bits.
  it.each([
    [1, 'b9a3', '78dadbb918000217015d', [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]],
    [2, 'c944f9', '78da3be9f2130003df0207', [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]],
  ] as const)('of %i bits are those of the specification', (width, hex, compressed, entries) => {
    const bytes = new Uint8Array(hex.length / 2)
    for (const [index, status] of entries.entries()) setStatus(bytes, width, index, status)
    expect(Buffer.from(bytes).toString('hex')).toBe(hex)
    expect(inflateSync(Buffer.from(compressed, 'hex')).toString('hex')).toBe(hex)
    expect(capacityOf(bytes, width)).toBe(entries.length)
    expect(entries.map((_, index) => statusAt(bytes, width, index))).toEqual(entries)
  })

  it.each([1, 2, 4, 8] as const)('of %i bits keep their neighbours when one is written again', (width) => {
    const bytes = new Uint8Array(4).fill(0xff)
    setStatus(bytes, width, 3, 0)
    const all = 2 ** width - 1
    const expected = Array.from({ length: 32 / width }, (_, index) => (index === 3 ? 0 : all))
    expect(expected.map((_, index) => statusAt(bytes, width, index))).toEqual(expected)
  })
})
