import { expect, it } from 'vitest'
import { misspeltMembers, refuseMisspelt } from './misspelt.ts'

it('a member that is nearly a known one is told with its path', () => {
  const found = [...misspeltMembers({ claim: [], purpose: 'a', id: 'b' }, ['id', 'claims'], 'dcql_query')]
  expect(found).toEqual(['dcql_query.claim: is unknown; did you mean claims?'])
  expect(() => refuseMisspelt({ locle: 'en' }, ['locale'], 'display')).toThrow('display.locle: is unknown')
})

it('one that stands beside the right one is left alone, as is what is no object', () => {
  expect([...misspeltMembers({ claim: [], claims: [] }, ['claims'], 'a')]).toEqual([])
  for (const value of [undefined, null, 'claim', ['claim']])
    expect([...misspeltMembers(value, ['claims'], 'a')]).toEqual([])
})
