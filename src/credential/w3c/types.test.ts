import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../../test/support/processor-time.ts'
import type { JsonObject } from '../../codec/json.ts'
import { matchesTypeValues, typeValuesOf } from './members.ts'

const V1 = 'https://www.w3.org/2018/credentials/v1'
const V2 = 'https://www.w3.org/ns/credentials/v2'
const EXPANDED = 'https://www.w3.org/2018/credentials#VerifiableCredential'

describe('types', () => {
  const types = ['VerifiableCredential', 'DegreeCredential']
  it.each<[string, boolean, JsonObject, readonly string[]]>([
    ['no constraint', true, {}, []],
    ['all types, raw', true, { type_values: [['VerifiableCredential', 'DegreeCredential']] }, []],
    ['any order and fewer', true, { type_values: [['DegreeCredential']] }, []],
    ['one of two alternatives', true, { type_values: [['Passport'], ['DegreeCredential']] }, []],
    ['expanded by version 2', true, { type_values: [[EXPANDED, 'DegreeCredential']] }, [V2]],
    ['expanded by version 1', true, { type_values: [[EXPANDED]] }, [V1, 'https://example.org/context']],
    ['expanded, but no context says so', false, { type_values: [[EXPANDED]] }, ['https://example.org/context']],
    [
      'a type that no context defines stays as it is',
      false,
      { type_values: [['https://www.w3.org/2018/credentials#DegreeCredential']] },
      [V2],
    ],
    ['one type too many', false, { type_values: [['VerifiableCredential', 'Passport']] }, [V2]],
    [
      'halves of two alternatives',
      false,
      {
        type_values: [
          ['DegreeCredential', 'X'],
          ['VerifiableCredential', 'Y'],
        ],
      },
      [],
    ],
    ['another case', false, { type_values: [['degreecredential']] }, []],
    ['an unreadable constraint is not met', false, { type_values: 'DegreeCredential' }, []],
    ['nor is an empty alternative', false, { type_values: [[]] }, []],
    ['an inherited constraint is none', true, JSON.parse('{"__proto__": {"type_values": [["X"]]}}') as JsonObject, []],
  ])('%s: %s', (_, expected, meta, contexts) => {
    expect(matchesTypeValues({ types, claims: { '@context': [...contexts] } }, meta)).toBe(expected)
  })

  it('a context expands only the types that the credential has', () => {
    const credential = { types: ['DegreeCredential'], claims: { '@context': V2 } }
    expect(matchesTypeValues(credential, { type_values: [[EXPANDED]] })).toBe(false)
    expect(matchesTypeValues({ ...credential, types }, { type_values: [[EXPANDED]] })).toBe(true)
  })

  it('are not looked through once for each context', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `Type${at}`)
    const credential = { types: many, claims: { '@context': Array<string>(10_000).fill(V2) } }
    const meta = { type_values: [['Type9999']] }
    expect(matchesTypeValues(credential, meta)).toBe(true)
    expect(await partOfLimit(40, () => matchesTypeValues(credential, meta))).toBeLessThan(1)
  })

  it('presentations are expanded too', () => {
    const meta = { type_values: [['https://www.w3.org/2018/credentials#VerifiablePresentation']] }
    const claims = { '@context': [V2, { other: 'context' }, 7] }
    expect(matchesTypeValues({ types: ['VerifiablePresentation'], claims }, meta)).toBe(true)
  })
})

it.each<[string, JsonObject, JsonObject]>([
  ['its types', { credential_definition: { type: ['A', 'B'] } }, { type_values: [['A', 'B']] }],
  ['its only type', { credential_definition: { type: ['A'] } }, { type_values: [['A']] }],
  ['any type, where there is none', { credential_definition: { type: [] } }, {}],
  ['any type, where there is no definition', {}, {}],
])('a configuration is asked for by %s', (_, configuration, meta) => {
  expect(typeValuesOf(configuration)).toEqual(meta)
})
