import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../codec/json.ts'
import { ProtocolError } from '../protocol/error.ts'
import { inForeignMeta, refuseBitstring, refuseForeignTypes, refuseReserved, refuseUnlessStrings } from './schema.ts'

function refusal(check: () => unknown): string {
  try {
    check()
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    expect((error as ProtocolError).code).toBe('invalid_request')
    return (error as ProtocolError).message
  }
  return 'taken'
}

describe('a dataset', () => {
  const inArrays = (levels: number): Json => (levels === 0 ? 1 : [inArrays(levels - 1)])
  const inObjects = (levels: number): Json => (levels === 0 ? 1 : { a: inObjects(levels - 1) })

  it.each<[string, Json, string]>([
    ['with 16 levels', inArrays(16), 'taken'],
    ['with 16 levels of names', inObjects(16), 'taken'],
    ['with 17 levels', inArrays(17), `at${'[0]'.repeat(16)}: nested deeper than 16`],
    ['with 17 levels of names', inObjects(17), `at${'.a'.repeat(16)}: nested deeper than 16`],
    ['with null', { a: null }, 'taken'],
    ['with a reserved name', { a: { _sd: 1 } }, 'at.a._sd: this name is reserved'],
    ['with a reserved name in an array', [{ '...': 1 }], 'at[0]....: this name is reserved'],
    [
      'with a reserved name below an element',
      { a: [1, [{ _sd_alg: 1 }]] },
      'at.a[1][0]._sd_alg: this name is reserved',
    ],
    ['with a name of the language', JSON.parse('{"__proto__":1}') as Json, 'at.__proto__: this name is reserved'],
    ['with a reserved name as a value', ['_sd'], 'taken'],
  ])('%s', (_, dataset, expected) => {
    expect(refusal(() => refuseReserved(dataset, 'at'))).toBe(expected)
  })
})

describe('a configuration', () => {
  it.each<[JsonObject, string, string]>([
    [{ vct: 'x' }, 'vct', 'taken'],
    [{}, 'vct', 'taken'],
    [{ vct: 'x', doctype: 'y' }, 'vct', 'doctype: does not go with this format; use vct'],
    [{ credential_definition: null }, 'doctype', 'credential_definition: does not go with this format; use doctype'],
    [{ vct: 'x' }, 'credential_definition', 'vct: does not go with this format; use credential_definition'],
  ])('%j of a format that knows %s', (configuration, known, expected) => {
    expect(refusal(() => refuseForeignTypes(configuration, known))).toBe(expected)
  })

  it('of a format without lists of the W3C names none', () => {
    expect(refusal(() => refuseBitstring({ status: 'bitstring' }))).toMatch(/^status: /)
    expect(refusal(() => refuseBitstring({}))).toBe('taken')
  })

  it.each<[Json | undefined, boolean]>([
    [['a'], true],
    [['a', 'b'], true],
    [[], false],
    [[''], false],
    [['a', ''], false],
    [['a', 1], false],
    ['a', false],
    [{ length: 0 }, false],
    [undefined, false],
  ])('with texts that are %j: %s', (value, expected) => {
    const refused = refusal(() => refuseUnlessStrings(value, 'at'))
    expect(refused).toBe(expected ? 'taken' : 'at: it must be a non-empty array of strings')
    if (expected) expect(refuseUnlessStrings(value, 'at')).toEqual(value)
  })
})

it.each<[JsonObject, readonly string[]]>([
  [{}, []],
  [{ vct_values: [] }, []],
  [{ vct_values: [], more: 1 }, []],
  [{ type_values: [] }, ['at.type_values: does not go with this format; use vct_values']],
  [
    { type_values: [], doctype_value: '', vct_values: [] },
    ['type_values', 'doctype_value'].map((name) => `at.${name}: does not go with this format; use vct_values`),
  ],
  [{ vct_value: [] }, ['at: has nothing that says the type; use vct_values, or an empty object for any type']],
])('the meta %j of a query for vct_values', (meta, expected) => {
  expect([...inForeignMeta(meta, 'at', 'vct_values')]).toEqual(expected)
})

it('each name of a type is foreign to the formats of the others', () => {
  const foreign = [...inForeignMeta({ vct_values: 1, type_values: 1, doctype_value: 1 }, 'at', 'x')]
  expect(foreign.map((sentence) => sentence.split(':')[0])).toEqual([
    'at.vct_values',
    'at.type_values',
    'at.doctype_value',
  ])
})
