import { expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { findMisspeltMembers, refuseMisspeltMember } from './misspelt.ts'

it('a member that is nearly a known one is told with its path', () => {
  const found = [...findMisspeltMembers({ claim: [], purpose: 'a', id: 'b' }, ['id', 'claims'], 'dcql_query')]
  expect(found).toEqual(['dcql_query.claim: is unknown; did you mean claims?'])
  expect(() => refuseMisspeltMember({ locle: 'en' }, ['locale'], 'display')).toThrow('display.locle: is unknown')
})

it('one that stands beside the right one is left alone, as is what is not an object', () => {
  expect([...findMisspeltMembers({ claim: [], claims: [] }, ['claims'], 'a')]).toEqual([])
  for (const value of [undefined, null, 'claim', ['claim']])
    expect([...findMisspeltMembers(value, ['claims'], 'a')]).toEqual([])
})

it('an object of a program costs little, and is left alone where it is large', async () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'
  const known = Array.from({ length: 50 }, (_, n) => `${letters}${n}`)
  const object = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`z${letters}${n}z`, n]))
  expect(await partOfLimit(2000, () => [...findMisspeltMembers(object(200), known, 'a')])).toBeLessThan(1)
  expect([...findMisspeltMembers({ ...object(200), locle: 'en' }, ['locale'], 'a')]).toEqual([])
})
