import { describe, expect, it } from 'vitest'
import { configurationOf } from '../../test/support/configuration.ts'
import { refusalOrTaken } from '../../test/support/refusal.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { findQueryMistakes } from './formats.ts'
import { sdJwtVc } from './sd-jwt-vc/index.ts'
import { refuseBitstringStatus, refuseReservedNames, requireStrings } from './validation.ts'

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
    expect(refusalOrTaken(() => refuseReservedNames(dataset, 'at'))).toBe(expected)
  })
})

describe('a configuration', () => {
  const card = { type: ['VerifiableCredential'], '@context': ['https://www.w3.org/ns/credentials/v2'] }
  it.each<[JsonObject, string]>([
    [{ format: 'dc+sd-jwt', vct: 'x' }, 'taken'],
    [{ format: 'vc+sd-jwt', credential_definition: card }, 'taken'],
    [{ format: 'mso_mdoc', doctype: 'x' }, 'taken'],
    [{ format: 'dc+sd-jwt', vct: 'x', doctype: 'y' }, 'doctype: does not go with this format; use vct'],
    [{ format: 'dc+sd-jwt', doctype: 'y' }, 'doctype: does not go with this format; use vct'],
    [
      { format: 'mso_mdoc', credential_definition: card },
      'credential_definition: does not go with this format; use doctype',
    ],
    [
      { format: 'vc+sd-jwt', credential_definition: card, vct: 'x' },
      'vct: does not go with this format; use credential_definition',
    ],
  ])('%j, which may name one type', (posted, expected) => {
    expect(refusalOrTaken(() => configurationOf(posted))).toBe(expected)
  })

  it('has the members that it leaves out', () => {
    const defaults = {
      selectiveDisclosure: 'all',
      validitySeconds: 31_536_000,
      batchSize: 1,
      isRevocable: true,
      claims: [],
    }
    expect(configurationOf({ format: 'dc+sd-jwt', vct: 'x' })).toMatchObject({ ...defaults, vct: 'x', format: sdJwtVc })
  })

  it('of a format without lists of the W3C names none', () => {
    expect(refusalOrTaken(() => refuseBitstringStatus({ format: 'mso_mdoc', status: 'bitstring' }))).toMatch(
      /^status: /,
    )
    expect(refusalOrTaken(() => refuseBitstringStatus({ format: 'mso_mdoc' }))).toBe('taken')
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
    const refused = refusalOrTaken(() => requireStrings(value, 'at'))
    expect(refused).toBe(expected ? 'taken' : 'at: it must be a non-empty array of strings')
    if (expected) expect(requireStrings(value, 'at')).toEqual(value)
  })
})

it.each<[JsonObject, readonly string[]]>([
  [{}, []],
  [{ vct_values: ['x'] }, []],
  [{ vct_values: ['x'], more: 1 }, []],
  [{ type_values: [] }, ['q.meta.type_values: does not go with this format; use vct_values']],
  [
    { type_values: [], doctype_value: '', vct_values: ['x'] },
    ['type_values', 'doctype_value'].map((name) => `q.meta.${name}: does not go with this format; use vct_values`),
  ],
  [{ vct_value: [] }, ['q.meta: has nothing that says the type; use vct_values, or an empty object for any type']],
])('the meta %j of a query for vct_values', (meta, expected) => {
  expect([...findQueryMistakes(sdJwtVc, { meta }, 'q')]).toEqual(expected)
})
