import { randomBytes } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unpack } from './status-list-token.ts'

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

  it.each([
    ['a byte', Buffer.from('x')],
    ['a zero', Buffer.alloc(1)],
    ['many bytes', Buffer.alloc(100_000, 1)],
    ['another list', deflateSync(Buffer.alloc(16))],
  ])('is refused with %s after its end', async (_, rest) => {
    const [zlib, gzip] = [deflateSync, gzipSync].map((pack) => Buffer.concat([pack(randomBytes(1000)), rest]))
    await expect(unpack(zlib as Buffer, 'zlib')).rejects.toThrow('its list is not packed by zlib')
    await expect(unpack(gzip as Buffer, 'gzip')).rejects.toThrow('its list is not packed by gzip')
  })

  it('is refused above one MiB', async () => {
    const bytes = Buffer.alloc(MIB + 1)
    const sentence = 'its list is larger than 1048576 bytes when it is unpacked'
    await expect(unpack(deflateSync(bytes), 'zlib')).rejects.toThrow(sentence)
    await expect(unpack(gzipSync(bytes), 'gzip')).rejects.toThrow(sentence)
  })
})
