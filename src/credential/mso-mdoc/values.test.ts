import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../../test/support/processor-time.ts'
import { CBOR_TAG, type Cbor, type CborKey, isBytes, isTagged, makeTagged } from '../../codec/cbor.ts'
import type { Json } from '../../codec/json.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { cborDateTime, requireUnicode, toCbor, toJson } from './values.ts'

const MDL = 'org.iso.18013.5.1'
const PID = 'eu.europa.ec.eudi.pid.1'
const AAMVA = 'org.iso.18013.5.1.aamva'
const PHOTO_IDS = ['org.iso.23220.1', 'org.iso.23220.photoID.1', 'org.iso.23220.photoid.1']
const DTC = 'org.iso.23220.dtc.1'

describe('a text in a dataset', () => {
  const [day, time] = ['2026-02-28', '2026-02-28T23:59:59Z']
  const fullDate = makeTagged(CBOR_TAG.fullDate, day)
  const tdate = makeTagged(CBOR_TAG.dateTime, time)

  it.each([
    ...['issue_date', 'expiry_date'].map((name) => [MDL, name] as const),
    ...['issue_date', 'issuance_date', 'expiry_date'].map((name) => [PID, name] as const),
    ...PHOTO_IDS.flatMap((nameSpace) =>
      ['issue_date', 'expiry_date', 'portrait_capture_date'].map((name) => [nameSpace, name] as const),
    ),
  ])('of %s %s is a date, with a time or without', (nameSpace, name) => {
    expect(toCbor(day, nameSpace, name)).toEqual(fullDate)
    expect(toCbor(time, nameSpace, name)).toEqual(tdate)
  })

  it.each([MDL, PID, ...PHOTO_IDS])('of %s birth_date is a day', (nameSpace) => {
    expect(toCbor(day, nameSpace, 'birth_date')).toEqual(fullDate)
    expect(() => toCbor(time, nameSpace, 'birth_date')).toThrow(/^it must be a date, as 2026-12-31$/)
  })

  it('of an mDL portrait_capture_date has a time, and the dates of a driving privilege have none', () => {
    expect(toCbor(time, MDL, 'portrait_capture_date')).toEqual(tdate)
    expect(() => toCbor(day, MDL, 'portrait_capture_date')).toThrow(/^it must be a date, as 2026-12-31T23:59:59Z$/)
    const privilege = (expiry_date: string) => [{ vehicle_category_code: 'B', expiry_date }]
    const entry = new Map<CborKey, Cbor>([
      ['vehicle_category_code', 'B'],
      ['expiry_date', fullDate],
    ])
    expect(toCbor(privilege(day), MDL, 'driving_privileges')).toEqual([entry])
    expect(() => toCbor(privilege(time), MDL, 'driving_privileges')).toThrow(/^it must be a date, as 2026-12-31$/)
  })

  it('of AAMVA hazmat_endorsement_expiration_date is a day, and so are the dates of a domestic privilege', () => {
    expect(toCbor(day, AAMVA, 'hazmat_endorsement_expiration_date')).toEqual(fullDate)
    expect(() => toCbor(time, AAMVA, 'hazmat_endorsement_expiration_date')).toThrow(
      /^it must be a date, as 2026-12-31$/,
    )
    const domestic_vehicle_class = { domestic_vehicle_class_code: 'C', issue_date: day, expiry_date: day }
    const privileges = toCbor([{ domestic_vehicle_class }], AAMVA, 'domestic_driving_privileges')
    const entries = new Map<CborKey, Cbor>([
      ['domestic_vehicle_class_code', 'C'],
      ['issue_date', fullDate],
      ['expiry_date', fullDate],
    ])
    expect(privileges).toEqual([new Map([['domestic_vehicle_class', entries]])])
  })

  it('of a Photo ID birth_date may have a mask beside the day', () => {
    const value = { birth_date: day, approximate_mask: '00000011' }
    expect(toCbor(value, 'org.iso.23220.1', 'birth_date')).toEqual(
      new Map<CborKey, Cbor>([
        ['birth_date', fullDate],
        ['approximate_mask', '00000011'],
      ]),
    )
  })

  it.each([
    '2026-02-30',
    '2026-13-01',
    '12026-02-28',
    '+012026-02-28',
    '+012026-02-28T00:00Z',
    '-002026-02-28T00:00Z',
    '2026-02',
    '2026-02-28T00:00Z',
    '2026-02-28T',
    '2026-02-28T24:00:00Z',
    '2026-02-28T23:59:60Z',
    '2026-02-28T23:59:59',
    '2026-02-28T23:59:59.000Z',
    '2026-02-28T23:59:59+00:00',
    '2026-02-28T23:59:59Z\n',
    ' 2026-02-28T23:59:59Z',
    '28.02.2026',
    '',
  ])('is not a date: %j', (text) => {
    expect(() => toCbor(text, MDL, 'birth_date')).toThrow('it must be a date')
  })

  it.each([
    ...['portrait', 'signature_usual_mark', 'biometric_template_face'].map((name) => [MDL, name] as const),
    [PID, 'portrait'] as const,
    ...PHOTO_IDS.flatMap((nameSpace) =>
      ['portrait', 'enrolment_portrait_image', 'biometric_template_face'].map((name) => [nameSpace, name] as const),
    ),
    ...['dtc_sod', 'dtc_dg1', 'dtc_dg16', 'dg_content_info'].map((name) => [DTC, name] as const),
  ])('of %s %s is bytes', (nameSpace, name) => {
    expect(isBytes(toCbor('_-8', nameSpace, name))).toBe(true)
  })

  it.each([
    [MDL, 'my_portrait'],
    [MDL, 'portraits'],
    [MDL, 'biometric_template_'],
    [MDL, 'issuance_date'],
    [PID, 'portrait_capture_date'],
    [PID, 'signature_usual_mark'],
    [PID, 'my_portrait'],
    [PID, 'portraits'],
    ['', 'portrait'],
    [AAMVA, 'portrait'],
    [DTC, 'dtc_version'],
    [DTC, 'dtc_dg'],
    [DTC, 'issue_date'],
    ['org.iso.23220.1', 'signature_usual_mark'],
  ])('of %j %s is a text', (nameSpace, name) => {
    expect(toCbor('2026-02-28', nameSpace, name)).toBe('2026-02-28')
  })

  it.each([
    ['//8=', 'ffff'],
    ['//8', 'ffff'],
    ['__8=', 'ffff'],
    ['+/+/', 'fbffbf'],
    ['-_-_', 'fbffbf'],
    ['/w==', 'ff'],
    ['', ''],
    ['data:,', undefined],
    ['data:image/png;base64,/w==', 'ff'],
    ['data:;base64,/w==', 'ff'],
    ['x data:;base64,/w==', undefined],
    ['//data:;base64,/w==', undefined],
    ['/w==x', undefined],
    ['=//8', undefined],
    ['/x==', undefined],
    ['/w ', undefined],
    ['/w===', undefined],
  ])('%j stands for the bytes %s', (text, hex) => {
    if (hex === undefined) expect(() => toCbor(text, MDL, 'portrait')).toThrow('it must be bytes')
    else expect(Buffer.from(toCbor(text, MDL, 'portrait') as Uint8Array).toString('hex')).toBe(hex)
  })

  it('costs no more than its length, whatever stands at its end', async () => {
    const text = `${'='.repeat(100_000)}x`
    const read = () => expect(() => toCbor(text, MDL, 'portrait')).toThrow('it must be bytes')
    expect(await partOfLimit(200, read)).toBeLessThan(1)
  })

  it('is a date or bytes by the name of the member it stands in, and an element of an array has none', () => {
    const made = toCbor([{ issue_date: '2026-02-28' }, '2026-02-28'], MDL, 'issue_date') as readonly Cbor[]
    expect(made).toEqual([new Map([['issue_date', makeTagged(CBOR_TAG.fullDate, '2026-02-28')]]), '2026-02-28'])
  })

  it('has an encoding', () => {
    expect(requireUnicode('é😀')).toBe('é😀')
    for (const half of ['\ud800', 'a\udc00']) {
      expect(() => requireUnicode(half)).toThrow(MalformedError)
      expect(() => toCbor(half, MDL, 'given_name')).toThrow('a text is not Unicode')
      expect(() => toCbor(half, 'org.example', undefined)).toThrow('a text is not Unicode')
      expect(() => toCbor({ [half]: 1 }, MDL, 'given_name')).toThrow('a text is not Unicode')
    }
  })
})

describe('a value that is read', () => {
  it.each<[Cbor, Json]>([
    [2n ** 60n, '1152921504606846976'],
    [Uint8Array.of(255, 254), '__4'],
    [makeTagged(CBOR_TAG.fullDate, '2026-02-28'), '2026-02-28'],
    [
      [1, [true]],
      [1, [true]],
    ],
    [
      new Map<CborKey, Cbor>([
        [1, 'a'],
        ['b', null],
      ]),
      { '1': 'a', b: null },
    ],
    [makeTagged(2, Uint8Array.of(1)), 'AQ'],
    [makeTagged(3, Uint8Array.of(1)), '~AQ'],
    [makeTagged(3, 'text'), 'text'],
    ['text', 'text'],
    [null, null],
  ])('is JSON: %#', (value, json) => {
    expect(toJson(value)).toEqual(json)
  })

  it('has no two members of one name', () => {
    const twice = new Map<CborKey, Cbor>([
      [1, 'a'],
      ['1', 'b'],
    ])
    expect(() => toJson(twice)).toThrow('a map has two members of one name')
  })
})

it('a time is in UTC and whole seconds', () => {
  const made = cborDateTime(new Date('2026-01-01T00:00:00.999Z'))
  expect(isTagged(made) && made).toEqual(makeTagged(0, '2026-01-01T00:00:00Z'))
})
