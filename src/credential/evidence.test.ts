/** The texts and numbers that are read as times, and from when and until when a credential holds. */
import { expect, it } from 'vitest'
import { earliestEnd, latestStart, readDateTime, readNumericInstants } from './evidence.ts'

const none = { member: 'a member', at: undefined }
const early = { member: 'a member', at: new Date('2026-01-01') }
const late = { member: 'a member', at: new Date('2026-02-01') }

// Date itself reads most of these.
it.each([
  '2026-01-01',
  '2026-01-01T00:00:00',
  '+002026-01-01T00:00:00Z',
  '(by us) 2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00Z (by us)',
  '2026-01-01T00:00:00+01:00Z',
])('%s is not a time', (text) => {
  expect(readDateTime('a member', text)).toEqual(none)
})

it.each(['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00+01:00'])('%s is a time', (text) => {
  expect(readDateTime('a member', text)).toEqual(early)
})

// RFC 7519 has no greatest NumericDate, and Date has one.
it.each([
  [1, '1970-01-01T00:00:01.000Z'],
  [1.5, '1970-01-01T00:00:01.500Z'],
  [9_999_999_999_999, '+275760-09-13T00:00:00.000Z'],
  [Number.MAX_VALUE, '+275760-09-13T00:00:00.000Z'],
  [-9_999_999_999_999, '-271821-04-20T00:00:00.000Z'],
])('the number %d is the time %s', (seconds, time) => {
  expect(readNumericInstants('exp', seconds).map(({ at }) => at?.toISOString())).toEqual([time])
})

it.each(['1', null, true, {}, 1n])('%s is no number, and no time', (value) => {
  expect(readNumericInstants('exp', value)).toEqual([{ member: 'exp', at: undefined }])
})

// A credential may name no limit, one or several.
it.each([
  ['no limits', [], undefined, undefined],
  ['a limit that is not a time', [none], undefined, undefined],
  ['one limit', [early], early.at, early.at],
  ['two limits', [early, late], late.at, early.at],
  ['two limits the other way round', [late, early], late.at, early.at],
  ['a limit that is a time and one that is not', [none, late], late.at, late.at],
])('%s', (_, limits, last, first) => {
  expect(latestStart({ notBefore: limits, notAfter: [] })).toEqual(last)
  expect(earliestEnd({ notBefore: [], notAfter: limits })).toEqual(first)
})

it('the time of issuance is no beginning of the validity', () => {
  expect(latestStart({ notBefore: [early, { ...late, member: 'iat' }], notAfter: [] })).toEqual(early.at)
  expect(latestStart({ notBefore: [{ ...late, member: 'iat' }], notAfter: [] })).toBeUndefined()
})
