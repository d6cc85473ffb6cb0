import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TIMES } from '../../test/support/seeds.ts'
import {
  contextTag,
  DER_TAG,
  type DerValue,
  readBitString,
  readBoolean,
  readDer,
  readInteger,
  readOctetString,
  readOid,
  readSequence,
  readSmallInteger,
  readString,
  readTime,
  refuseMoreMembers,
  takeMember,
  takeOptionalMember,
  writeBitString,
  writeBoolean,
  writeDer,
  writeInteger,
  writeOctetString,
  writeOid,
  writeSequence,
  writeSet,
  writeTime,
} from './der.ts'
import { MalformedError } from './malformed.ts'

const bytes = (hex: string) => Buffer.from(hex.replace(/ /g, ''), 'hex')
const read = (hex: string) => readDer(bytes(hex))

function expectMalformed(run: () => unknown, why: RegExp): void {
  expect(run).toThrow(MalformedError)
  expect(run).toThrow(why)
}

describe('the structure of DER', () => {
  test('an element has its tag, its content and the elements inside', () => {
    const value = read('30 06 02 01 05 01 01 ff')
    expect(value.tag).toBe(DER_TAG.sequence)
    expect(value.content.toString('hex')).toBe('0201050101ff')
    expect(value.children.map(({ tag, der }) => [tag, der.toString('hex')])).toEqual([
      [0x02, '020105'],
      [0x01, '0101ff'],
    ])
  })

  test.each([
    ['nothing', '', /cut short/],
    ['a tag alone', '30', /cut short/],
    ['a length whose octets are missing', '30 82 01', /cut short/],
    ['content that is missing', '04 02 00', /cut short/],
    ['an element that reaches beyond the one it is in', '30 03 04 02 00 00', /cut short/],
    ['bytes after the element', '04 01 00 00', /bytes follow/],
    ['bytes after the last element inside', '30 03 05 00 04', /cut short/],
    ['an indefinite length', '30 80 05 00 00 00', /indefinite/],
    ['a length in the long form that fits the short one', '04 81 01 00', /not minimal/],
    ['a length with a leading zero', `04 82 00 80 ${'00'.repeat(128)}`, /not minimal/],
    ['a length of five octets', '04 85 00 00 00 00 01 00', /too large/],
    ['a length of four octets that is not there', '04 84 ff ff ff ff 00', /cut short/],
    ['a tag of several octets', '1f 81 01 00', /several octets/],
    ['the end-of-contents tag', '00 00', /reserved/],
    ['a constructed OCTET STRING', '24 03 04 01 00', /BER/],
    ['a primitive SEQUENCE', '10 00', /BER/],
    ['a SET that is not sorted', '31 06 02 01 02 02 01 01', /not sorted/],
  ])('%s is refused', (_, hex, why) => {
    expectMalformed(() => read(hex), why)
  })

  test('nesting is limited', () => {
    const nested = (depth: number): Buffer => (depth === 1 ? writeSequence() : writeSequence(nested(depth - 1)))
    expect(readDer(nested(16)).tag).toBe(DER_TAG.sequence)
    expectMalformed(() => readDer(nested(17)), /deeper than 16/)
    expectMalformed(() => readDer(nested(5000)), /deeper than 16/)
  })

  test('size is limited', () => {
    expect(readDer(writeOctetString(Buffer.alloc(65_532))).der.length).toBe(65_536)
    expectMalformed(() => readDer(writeOctetString(Buffer.alloc(65_533))), /larger than 65536/)
  })

  test('members are taken in order, and none may be left over', () => {
    const members = readSequence(read('30 08 02 01 05 01 01 ff 05 00'))
    expect(takeOptionalMember(members, DER_TAG.boolean)).toBeUndefined()
    expect(takeMember(members, DER_TAG.integer).content[0]).toBe(5)
    expectMalformed(() => takeMember(members, DER_TAG.oid), /tag 06 is missing/)
    expect(takeOptionalMember(members, DER_TAG.boolean)?.content[0]).toBe(0xff)
    expectMalformed(() => refuseMoreMembers(members), /tag 05 is out of place/)
    takeMember(members, DER_TAG.null)
    refuseMoreMembers(members)
    expectMalformed(() => readSequence(read('02 01 05')), /tag 02 instead of 30/)
  })
})

describe('the types of DER', () => {
  test.each<[string, (value: DerValue) => unknown, string, RegExp]>([
    ['a BOOLEAN that is 01', readBoolean, '01 01 01', /neither 00 nor FF/],
    ['a BOOLEAN of two octets', readBoolean, '01 02 ff ff', /neither 00 nor FF/],
    ['an empty BOOLEAN', readBoolean, '01 00', /neither 00 nor FF/],
    ['an empty INTEGER', readInteger, '02 00', /empty/],
    ['a positive INTEGER with a zero too many', readInteger, '02 02 00 7f', /not minimal/],
    ['a negative INTEGER with an FF too many', readInteger, '02 02 ff 80', /not minimal/],
    ['a length that is negative', readSmallInteger, '02 01 ff', /negative/],
    ['a length beyond 31 bits', readSmallInteger, '02 05 00 80 00 00 00', /too large/],
    ['a BIT STRING without its first octet', readBitString, '03 00', /empty/],
    ['a BIT STRING with eight unused bits', readBitString, '03 02 08 00', /too many unused/],
    ['an empty BIT STRING with unused bits', readBitString, '03 01 01', /too many unused/],
    ['a BIT STRING whose unused bits are set', readBitString, '03 02 01 01', /are set/],
    ['an empty OBJECT IDENTIFIER', readOid, '06 00', /cut short/],
    ['an OBJECT IDENTIFIER in the middle of an arc', readOid, '06 02 55 84', /cut short/],
    ['an arc with a leading zero', readOid, '06 03 55 80 04', /not minimal/],
    ['an endless OBJECT IDENTIFIER', readOid, `06 81 81 ${'01'.repeat(129)}`, /too long/],
    ['an OCTET STRING that is an INTEGER', readOctetString, '02 01 05', /tag 02 instead of 04/],
    ['UTF-8 that is none', readString, '0c 02 c3 28', /not of its type/],
    ['a PrintableString beyond ASCII', readString, '13 01 e9', /not of its type/],
    ['a BMPString with half a character', readString, '1e 01 41', /not of its type/],
    ['a number as text', readString, '02 01 05', /not of its type/],
  ])('%s is refused', (_, readType, hex, why) => {
    expectMalformed(() => readType(read(hex)), why)
  })

  test.each([
    ['without seconds', DER_TAG.utcTime, '2601010000Z'],
    ['with an offset', DER_TAG.utcTime, '260101000000+0100'],
    ['without a zone', DER_TAG.utcTime, '260101000000'],
    ['with a fraction', DER_TAG.generalizedTime, '20260101000000.5Z'],
    ['of two digits for the year in the wrong type', DER_TAG.generalizedTime, '260101000000Z'],
    ['of four digits for the year in the wrong type', DER_TAG.utcTime, '20260101000000Z'],
    ['in a string', DER_TAG.ia5String, '20260101000000Z'],
    ['on February 30', DER_TAG.utcTime, '260230000000Z'],
    ['in the month 13', DER_TAG.utcTime, '261301000000Z'],
    ['in the hour 24', DER_TAG.utcTime, '260101240000Z'],
    ['in a leap second', DER_TAG.utcTime, '261231235960Z'],
    ['in Arabic digits', DER_TAG.utcTime, '٢٦0101000000Z'],
  ])('a time %s is refused', (_, tag, text) => {
    expect(() => readTime(readDer(writeDer(tag, Buffer.from(text))))).toThrow(MalformedError)
  })

  test.each([
    ['500101000000Z', '1950-01-01T00:00:00.000Z'],
    ['491231235959Z', '2049-12-31T23:59:59.000Z'],
    ['240229120000Z', '2024-02-29T12:00:00.000Z'],
  ])('the years of a UTCTime are 1950 to 2049: %s', (text, iso) => {
    expect(readTime(readDer(writeDer(DER_TAG.utcTime, Buffer.from(text)))).toISOString()).toBe(iso)
  })

  test('a GeneralizedTime may be of the year 0 or 9999', () => {
    const time = (text: string) => readTime(readDer(writeDer(DER_TAG.generalizedTime, Buffer.from(text)))).toISOString()
    expect(time('00000101000000Z')).toBe('0000-01-01T00:00:00.000Z')
    expect(time('99991231235959Z')).toBe('9999-12-31T23:59:59.000Z')
  })

  test.each([
    ['06 03 55 04 03', '2.5.4.3'],
    ['06 06 2a 86 48 86 f7 0d', '1.2.840.113549'],
    ['06 01 00', '0.0'],
    ['06 02 88 37', '2.999'],
  ])('%s is the OBJECT IDENTIFIER %s', (hex, dotted) => {
    expect(readOid(read(hex))).toBe(dotted)
    expect(writeOid(dotted).equals(bytes(hex))).toBe(true)
  })

  test('each type of string is read in its own encoding', () => {
    expect(readString(readDer(writeDer(DER_TAG.utf8String, Buffer.from('Köln'))))).toBe('Köln')
    expect(readString(readDer(writeDer(DER_TAG.printableString, Buffer.from('DE'))))).toBe('DE')
    expect(readString(read('14 04 4b f6 6c 6e'))).toBe('Köln')
    expect(readString(read('1e 08 00 4b 00 f6 00 6c 00 6e'))).toBe('Köln')
  })
})

describe('what is written', () => {
  test('numbers are minimal and not negative', () => {
    expect(writeInteger(0).toString('hex')).toBe('020100')
    expect(writeInteger(128).toString('hex')).toBe('02020080')
    expect(writeInteger(bytes('00 00 7f')).toString('hex')).toBe('02017f')
    expect(writeInteger(bytes('00 00')).toString('hex')).toBe('020100')
    fc.assert(
      fc.property(fc.nat(), (number) => readSmallInteger(readDer(writeInteger(number))) === number),
      { numRuns: 200 * TIMES },
    )
  })

  test('times change their type in 2050, and lose their milliseconds', () => {
    const [last, first] = [new Date('2049-12-31T23:59:59.999Z'), new Date('2050-01-01T00:00:00Z')]
    expect(readDer(writeTime(last)).tag).toBe(DER_TAG.utcTime)
    expect(readDer(writeTime(first)).tag).toBe(DER_TAG.generalizedTime)
    expect(readTime(readDer(writeTime(last))).toISOString()).toBe('2049-12-31T23:59:59.000Z')
    expect(readTime(readDer(writeTime(first))).toISOString()).toBe('2050-01-01T00:00:00.000Z')
  })

  test('sets are sorted, and lengths of every size come back', () => {
    expect(writeSet(bytes('02 01 02'), bytes('02 01 01')).toString('hex')).toBe('3106020101020102')
    for (const length of [0, 127, 128, 255, 256, 65_000]) {
      expect(readOctetString(readDer(writeOctetString(Buffer.alloc(length)))).length).toBe(length)
    }
  })

  test('booleans, bits and tagged members come back', () => {
    expect([true, false].map((value) => readBoolean(readDer(writeBoolean(value))))).toEqual([true, false])
    expect(readBitString(readDer(writeBitString(bytes('a0'), 5)))).toEqual({ bytes: bytes('a0'), unusedBits: 5 })
    expect(readDer(writeDer(contextTag(3, 'constructed'), writeInteger(2))).children).toHaveLength(1)
    expect(readDer(writeDer(contextTag(2, 'primitive'), bytes('02 01'))).children).toHaveLength(0)
  })
})

test('whatever the bytes are, they are read or malformed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (input) => {
      try {
        expect(readDer(input).der.equals(input)).toBe(true)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError)
      }
    }),
    { numRuns: 500 * TIMES },
  )
})
