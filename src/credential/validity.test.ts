/** From when and until when a credential holds that names none, one or several limits. */
import { expect, it } from 'vitest'
import { firstEnd, lastStart } from './validity.ts'

const day = (date: string) => ({ member: 'a member', at: new Date(date) })
const none = { member: 'a member', at: undefined }
const [early, late] = [day('2026-01-01'), day('2026-02-01')]

it.each([
  ['no limits', [], undefined, undefined],
  ['a limit that is not a time', [none], undefined, undefined],
  ['one limit', [early], early.at, early.at],
  ['two limits', [early, late], late.at, early.at],
  ['two limits the other way round', [late, early], late.at, early.at],
  ['a limit that is a time and one that is not', [none, late], late.at, late.at],
])('%s', (_, limits, last, first) => {
  expect(lastStart({ notBefore: limits, notAfter: [] })).toEqual(last)
  expect(firstEnd({ notBefore: [], notAfter: limits })).toEqual(first)
})

it('the time of issuance is no beginning of the validity', () => {
  expect(lastStart({ notBefore: [early, { ...late, member: 'iat' }], notAfter: [] })).toEqual(early.at)
  expect(lastStart({ notBefore: [{ ...late, member: 'iat' }], notAfter: [] })).toBeUndefined()
})
