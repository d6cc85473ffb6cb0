import { describe, expect, it } from 'vitest'
import type { Json } from '../codec/json.ts'
import {
  answersAuthorities,
  findAuthorityMistakes,
  findUncheckableAuthorities,
  namesTrustList,
} from './dcql-authorities.ts'

describe('a credential answers for authorities', () => {
  const keyIds = new Set(['c3Vi'])
  it.each<[string, { type: string; values: string[] }[] | undefined, boolean]>([
    ['that nobody asked for', undefined, true],
    ['of which one is its own', [{ type: 'aki', values: ['AAAA', 'c3Vi'] }], true],
    ['of which none is its own', [{ type: 'aki', values: ['AAAA'] }], false],
    ['that another type names by the same value', [{ type: 'etsi_tl', values: ['c3Vi'] }], false],
    ['of which there are none', [], false],
  ])('%s', (_, authorities, expected) => {
    expect(answersAuthorities(authorities ? { trusted_authorities: authorities } : {}, keyIds)).toBe(expected)
  })
})

it.each([
  ['its list', 'etsi_tl', true],
  ['another kind of authority by the same value', 'aki', false],
])('a query names a trust list where it names %s', (_, type, expected) => {
  const url = 'https://a.example'
  expect(namesTrustList({ trusted_authorities: [{ type, values: ['x', url] }] }, [url])).toBe(expected)
  expect(namesTrustList({}, [url])).toBe(false)
})

it.each<[string, Json, readonly string[]]>([
  ['right, of any type', [{ type: 'x', values: ['y'] }], []],
  ['none', [], ['q: must be a non-empty array']],
  ['no list', {}, ['q: must be a non-empty array']],
  ['no object', ['x'], ['q[0]: must be an object']],
  ['empty', [{}], ['q[0].type: must be a non-empty string', 'q[0].values: must be a non-empty array']],
  ['without a value', [{ type: 'aki', values: ['x', ''] }], ['q[0].values[1]: must be a non-empty string']],
])('what is wrong with the form of authorities that are %s', (_, authorities, expected) => {
  expect([...findAuthorityMistakes(authorities, 'q')]).toEqual(expected)
})

describe('what nobody could check of authorities', () => {
  const found = (...authorities: Json[]) => [...findUncheckableAuthorities(authorities, 'q')]
  const checkValue = (value: Json) => found({ type: 'aki', values: [value] })

  it('is their type, when there is one', () => {
    expect(found({ type: 'x', values: ['AAAA'] })).toEqual(['q[0].type: must be aki or etsi_tl'])
    expect(found({ type: 'openid_federation' })).toEqual([expect.stringContaining('federations are not supported')])
    expect(found({ type: '' }, { type: 7 }, {}, 7)).toEqual([])
  })

  it('is a list that the verifier does not have', () => {
    const lists = { type: 'etsi_tl', values: ['https://a.example', 'https://b.example', 7] }
    expect(found(lists)).toHaveLength(2)
    expect([...findUncheckableAuthorities([lists], 'q', ['https://a.example'])]).toEqual([
      expect.stringMatching(/^q\[0\]\.values\[1\]: is not the url of one of trustLists of this verifier/),
    ])
  })

  it.each<[string, Json]>([
    ['no text', 7],
    ['an empty text', ''],
    ['64 bytes', `${'z'.repeat(85)}A`],
    ['what only ends like hexadecimal', `zzzz${'ab'.repeat(16)}`],
    ['what only begins like hexadecimal', `${'ab'.repeat(16)}zzzz`],
    ['hexadecimal that is too short for a key identifier', 'ab'.repeat(14)],
  ])('is not %s', (_, value) => {
    expect(checkValue(value)).toEqual([])
  })

  it.each<[string, string, RegExp]>([
    ['hexadecimal', 'ab'.repeat(16), /^q\[0\]\.values\[0\]: is hexadecimal/],
    ['hexadecimal with colons', 'AB:'.repeat(19).concat('AB'), /^q\[0\]\.values\[0\]: is hexadecimal/],
    ['65 bytes', `${'z'.repeat(86)}A`, /^q\[0\]\.values\[0\]: has 65 bytes; a key identifier has at most 64$/],
    ['no base64url', 'AAA=', /^q\[0\]\.values\[0\]: must be a key identifier in base64url without padding$/],
  ])('is %s', (_, value, mistake) => {
    expect(checkValue(value)).toEqual([expect.stringMatching(mistake)])
  })
})
