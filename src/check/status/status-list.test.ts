import { randomBytes } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unpack } from './status-list.ts'

const MIB = 2 ** 20

describe('a packed status list', () => {
  it.each([
    ['a million entries of one bit', 1_000_000 / 8],
    ['a million entries of two bits', 1_000_000 / 4],
    ['a million entries of eight bits', 1_000_000],
    ['one MiB', MIB],
  ])('may have %s', async (_, size) => {
    const bytes = randomBytes(size)
    expect(Buffer.compare(await unpack(deflateSync(bytes), 'zlib'), bytes)).toBe(0)
    expect(Buffer.compare(await unpack(gzipSync(bytes), 'gzip'), bytes)).toBe(0)
  })

  it('is refused above one MiB', async () => {
    const bytes = Buffer.alloc(MIB + 1)
    const sentence = 'its list is larger than 1048576 bytes when it is unpacked'
    await expect(unpack(deflateSync(bytes), 'zlib')).rejects.toThrow(sentence)
    await expect(unpack(gzipSync(bytes), 'gzip')).rejects.toThrow(sentence)
  })
})
