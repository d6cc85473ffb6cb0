import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TIMES } from '../../test/support/seeds.ts'
import {
  asEmbeddedBytes,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  contentOfTag,
  decodeCbor,
  embedCbor,
  encodeCbor,
  encodeEmbedded,
  encodeInOrder,
  makeTagged,
  readEmbedded,
} from './cbor.ts'
import { MalformedError } from './malformed.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const decodeHex = (text: string) => decodeCbor(hex(text))

/** Values of every kind that we write. */
const { value: anyValue } = fc.letrec<{ value: Cbor }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.maxSafeInteger(),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
      fc.boolean(),
      fc.constantFrom(null, '', '\ufeffmarked'),
      fc.uint8Array({ maxLength: 40 }),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(fc.oneof(fc.string(), fc.integer()), tie('value')), {
        maxLength: 4,
        selector: ([key]) => key,
      })
      .map((members) => new Map<CborKey, Cbor>(members)),
    fc.tuple(fc.constantFrom(0, 24, 1004, 70_000), tie('value')).map(([tag, value]) => makeTagged(tag, value)),
  ),
}))

describe('CBOR', () => {
  // RFC 8949 appendix A.
  it.each<[string, Cbor]>([
    ['00', 0],
    ['1818', 24],
    ['1b000000e8d4a51000', 1_000_000_000_000],
    ['1bffffffffffffffff', 18_446_744_073_709_551_615n],
    ['3903e7', -1000],
    ['f93e00', 1.5],
    ['fb7e37e43c8800759c', 1e300],
    ['f5', true],
    ['f6', null],
    ['62c3bc', 'ü'],
    ['83010203', [1, 2, 3]],
  ])('reads %s', (text, value) => {
    expect(decodeHex(text)).toEqual(value)
    expect(Buffer.from(encodeCbor(value)).toString('hex')).toBe(text)
  })

  it('reads maps as Map, with integers and texts for keys, and bytes as bytes', () => {
    expect(decodeHex('a3 01 02 20 41ff 6161 40')).toEqual(
      new Map<CborKey, Cbor>([
        [1, 2],
        [-1, Uint8Array.of(0xff)],
        ['a', new Uint8Array(0)],
      ]),
    )
  })

  it('keeps tags, whatever they are', () => {
    expect(decodeHex('c074323031332d30332d32315432303a30343a30305a')).toEqual(makeTagged(0, '2013-03-21T20:04:00Z'))
    expect(decodeHex('d9 d9f7 01')).toEqual(makeTagged(55_799, 1))
    expect(contentOfTag(decodeHex('d903ec6a323032362d30312d3031'), CBOR_TAG.fullDate)).toBe('2026-01-01')
    expect(contentOfTag(decodeHex('c101'), CBOR_TAG.dateTime)).toBe(undefined)
  })

  it('gives the very bytes of an embedded value', () => {
    const bytes = hex('a2 6162 01 6161 02')
    const value = decodeCbor(encodeCbor(makeTagged(24, bytes)))
    expect(Buffer.from(asEmbeddedBytes(value, 'it')).equals(bytes)).toBe(true)
    expect(readEmbedded(embedCbor(7), 'it')).toBe(7)
    expect(() => readEmbedded(makeTagged(24, hex('ff')), 'the item')).toThrow(/^the item: /)
    expect(() => asEmbeddedBytes(hex('01'), 'the item')).toThrow('the item is not embedded CBOR (tag 24)')
  })

  it.each([0, 23, 24, 255, 256, 65_535, 65_536])('embeds %i bytes as the encoder does', (length) => {
    const bytes = randomBytes(length)
    expect(encodeEmbedded(bytes)).toEqual(Buffer.from(encodeCbor(makeTagged(CBOR_TAG.encoded, bytes))))
  })

  it('reads values that do not change with the bytes they were read from', () => {
    const bytes = hex('82 4101 6161')
    const value = decodeCbor(bytes)
    bytes.fill(0)
    expect(value).toEqual([Uint8Array.of(1), 'a'])
  })

  it('reads as it was written', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(decodeCbor(encodeCbor(value))).toEqual(value)
      }),
      { numRuns: 250 * TIMES },
    )
  })

  it('sorts the keys of what it writes', () => {
    const map = new Map<CborKey, Cbor>([
      ['bb', 1],
      ['a', 2],
      [-1, 3],
      [1, 4],
    ])
    expect(Buffer.from(encodeCbor(map)).toString('hex')).toBe('a4010420036161026262' + '6201')
  })

  it('leaves the keys in their order where it is told to, of maps inside too', () => {
    const map = new Map<CborKey, Cbor>([
      [
        'b',
        new Map<CborKey, Cbor>([
          ['dd', 1],
          ['c', 2],
        ]),
      ],
      ['a', 3],
    ])
    expect(Buffer.from(encodeInOrder(map)).toString('hex')).toBe('a26162a2626464016163026161' + '03')
  })

  it.each([
    ['nothing', '', /cut short/],
    ['a value that is cut short', '8301', /cut short/],
    ['bytes that are cut short', '4401', /./],
    ['bytes that follow', '0000', /bytes follow/],
    ['a key twice', 'a2 6161 01 6161 02', /a key twice/],
    ['a number as a key twice', 'a2 01 01 01 02', /a key twice/],
    ['a key that is bytes', 'a1 41ff 01', /neither a text nor an integer/],
    ['a key that is an array', 'a1 80 01', /neither a text nor an integer/],
    ['a key that is a float', 'a1 f90000 01', /neither a text nor an integer/],
    ['a number that is longer than it need be', '1817', /necessary/],
    ['a length that is longer than it need be', '5800', /necessary/],
    ['an array of indefinite length', '9f01ff', /indefinite/],
    ['a map of indefinite length', 'bf01ff', /indefinite/],
    ['a text of indefinite length', '7f6161ff', /indefinite/],
    ['a break', 'ff', /indefinite/],
    ['undefined', 'f7', /undefined/],
    ['a simple value', 'f0', /simple/],
    ['a simple value of two bytes', 'f8ff', /simple/],
    ['NaN', 'f97e00', /NaN/],
    ['infinity', 'f97c00', /Infinity/],
    ['a text that is not UTF-8', '62c328', /UTF-8/],
    ['half of a surrogate pair', '63eda080', /UTF-8/],
    ['an array of more elements than there are bytes', '9affffffff01', /cut short/],
    ['an array of 2^63 elements', '9b8000000000000000', /./],
    ['bytes of a length of 2^63', '5b8000000000000000', /./],
    ['a tag of 2^63', 'db800000000000000001', /tag/],
    ['a tag without a value', 'c0', /cut short/],
  ])('refuses %s', (_, text, why) => {
    expect(() => decodeHex(text)).toThrow(MalformedError)
    expect(() => decodeHex(text)).toThrow(why)
  })

  it('reads numbers and lengths of more bytes than they need where that is allowed, and still refuses the rest', () => {
    const long = (text: string) => decodeCbor(hex(text.replaceAll(' ', '')), { longNumbers: true })
    expect(long('b90001 6161 1b0000000000000017')).toEqual(new Map([['a', 23]]))
    expect(long('590001 ff')).toEqual(Uint8Array.of(255))
    expect(() => long('a2 01 01 1801 02')).toThrow('a key twice')
    expect(() => long('9f01ff')).toThrow(/indefinite/)
    expect(() => long('b90001 6161')).toThrow(/cut short/)
  })

  it('has a thousand numbers as keys of a map at most, since a sender can make them collide', () => {
    const mapOf = (count: number, key: (n: number) => CborKey) =>
      encodeInOrder(new Map(Array.from({ length: count }, (_, n) => [key(n), 0])))
    expect(decodeCbor(mapOf(1000, (n) => n))).toHaveProperty('size', 1000)
    expect(decodeCbor(mapOf(2000, String))).toHaveProperty('size', 2000)
    expect(() => decodeCbor(mapOf(1001, (n) => n))).toThrow('more than 1000 keys that are numbers')
    expect(() => decodeCbor(mapOf(1001, (n) => 2n ** 60n + BigInt(n)))).toThrow('more than 1000 keys')
  })

  it('is nested 32 deep at most', () => {
    const nested = (depth: number) => decodeCbor(Buffer.concat([Buffer.alloc(depth, 0x81), hex('00')]))
    nested(32)
    expect(() => nested(33)).toThrow('the CBOR is nested deeper than 32')
    expect(() => nested(500_000)).toThrow('the CBOR is nested deeper than 32')
    expect(() => decodeCbor(Buffer.concat([Buffer.alloc(33, 0xc1), hex('00')]))).toThrow(/deeper/)
    expect(() => decodeCbor(Buffer.concat([Buffer.from('a100'.repeat(33), 'hex'), hex('00')]))).toThrow(/deeper/)
  })

  it('has a limit to its bytes and to its values', () => {
    expect(() => decodeCbor(Buffer.alloc(1024 * 1024 + 1))).toThrow(/larger than/)
    const many = Buffer.concat([hex('997530'), Buffer.alloc(30_000)])
    expect(() => decodeCbor(many)).toThrow(/more than 20000 values/)
  })

  it('is malformed at worst: random bytes, and good ones with a few changed', () => {
    const attempt = (bytes: Uint8Array) => {
      try {
        decodeCbor(bytes)
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
      }
    }
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), attempt), { numRuns: 500 * TIMES })
    const changed = fc.tuple(anyValue, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }))
    fc.assert(
      fc.property(changed, ([value, changes]) => {
        const bytes = Uint8Array.from(encodeCbor(value))
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte
        attempt(bytes)
      }),
      { numRuns: 500 * TIMES },
    )
    attempt(randomBytes(100_000))
  })
})
