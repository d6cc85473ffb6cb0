import { describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { refusalOrTaken } from '../../../test/support/refusal.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { findQueryMistakes } from '../formats.ts'
import { msoMdoc } from './index.ts'
import { matchesMeta, refuseInvalidDataset } from './validation.ts'

describe('a configuration', () => {
  const described = (...paths: readonly Json[]): JsonObject => ({
    credential_metadata: { claims: paths.map((path) => ({ path })) },
  })
  const wanted = 'must begin with two strings, a namespace and an element'

  it.each<[string, JsonObject, string]>([
    ['without more', {}, 'taken'],
    ['of which all can be hidden', { selective_disclosure: 'all' }, 'taken'],
    ['with claims', described(['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 0, null]), 'taken'],
    ['with metadata without claims', { credential_metadata: {} }, 'taken'],
    ['without a type', { doctype: '' }, 'doctype: this format needs it, a text such as org.iso.18013.5.1.mDL'],
    ['with lists of the W3C', { status: 'bitstring' }, 'status: only W3C formats have it'],
    ['with another type', { vct: 'x' }, 'vct: does not go with this format; use doctype'],
    ['of which none can be hidden', { selective_disclosure: 'none' }, 'selective_disclosure: must be "all"'],
    ['of which some can be hidden', { selective_disclosure: [] }, 'selective_disclosure: must be "all"'],
    ['with a claim that is a namespace', described(['a']), `credential_metadata.claims[0].path: ${wanted}`],
    ['with an index', described(['a', 'b'], [0, 'b']), `credential_metadata.claims[1].path: ${wanted}`],
    ['with null', described(['a', null, 'b']), `credential_metadata.claims[0].path: ${wanted}`],
  ])('%s', (_, more, expected) => {
    expect(refusalOrTaken(() => configurationOf({ format: 'mso_mdoc', doctype: 'org.example', ...more }))).toContain(
      expected,
    )
  })
})

describe('a dataset', () => {
  const named = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, i) => [`e${i}`, 1]))
  const spaces = (...counts: readonly number[]): JsonObject =>
    Object.fromEntries(counts.map((count, i) => [`n${i}`, named(count)]))
  const deep = (levels: number): Json => (levels === 0 ? 1 : [deep(levels - 1)])
  const nested = (levels: number): Json => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const proto = JSON.parse('{"__proto__": {"a": 1}}') as JsonObject
  const half = '\ud800'
  const most = 'credential_dataset: it may have 32 namespaces and 1000 elements, and no more'

  it.each<[string, JsonObject, string]>([
    ['with everything', { a: { b: [1, { c: null }], d: { e: true } } }, 'taken'],
    ['with nothing', {}, 'credential_dataset: it must have a namespace, such as org.iso.18013.5.1'],
    ['with 32 namespaces', spaces(...Array<number>(32).fill(1)), 'taken'],
    ['with 33 namespaces', spaces(...Array<number>(33).fill(1)), most],
    ['with 1000 elements', spaces(1, 999), 'taken'],
    ['with 1001 elements', spaces(2, 999), most],
    ['with 3000 values', { a: { b: Array<Json>(2998).fill(1) } }, 'taken'],
    ['with 3001 values', { a: { b: Array<Json>(2999).fill(1) } }, 'credential_dataset: it holds more than 3000 values'],
    ['with an empty namespace', { a: {} }, 'credential_dataset.a: it must be an object with the elements'],
    ['with a namespace that is an array', { a: [1] }, 'credential_dataset.a: it must be an object with the elements'],
    ['with a namespace that is null', { a: null }, 'credential_dataset.a: it must be an object with the elements'],
    ['with a deep element', { a: { b: deep(15) } }, 'taken'],
    ['with a deep object', { a: { b: nested(15) } }, 'taken'],
    ['with a deeper element', { a: { b: deep(16) } }, 'nested deeper than 16'],
    ['with a deeper object', { a: { b: nested(16) } }, 'nested deeper than 16'],
    ['with a namespace of the language', proto, '__proto__: this name is reserved'],
    ['with an element of the language', { a: proto }, 'credential_dataset.a.__proto__: this name is reserved'],
    ['with a namespace of SD-JWTs', { _sd: { a: 1 } }, 'credential_dataset._sd: this name is reserved'],
    ['with a member of SD-JWTs', { a: { b: { '...': 1 } } }, 'credential_dataset.a.b["..."]: this name is reserved'],
    [
      'with a member of the language',
      { a: { b: [proto] } },
      'credential_dataset.a.b[0].__proto__: this name is reserved',
    ],
    ['with half a character in a namespace', { [half]: { a: 1 } }, 'a text is not Unicode'],
    ['with half a character in a name', { a: { [half]: 1 } }, 'a text is not Unicode'],
    ['with half a character in a text', { a: { b: [1, half] } }, 'credential_dataset.a.b[1]: a text is not Unicode'],
    [
      'with a time in a driving privilege',
      { 'org.iso.18013.5.1': { driving_privileges: [{ issue_date: '2026-12-31T00:00:00Z' }] } },
      '.driving_privileges[0].issue_date: it must be a date, as 2026-12-31',
    ],
    ['with a date that is none', { 'org.iso.18013.5.1': { birth_date: 'x' } }, '.birth_date: it must be a date'],
    [
      'with a date below that is none',
      { 'org.iso.18013.5.1': { driving_privileges: [{ expiry_date: 'x' }] } },
      '.driving_privileges[0].expiry_date: it must be a date',
    ],
    ...[['x'], 19900101, true, null].map((value): [string, JsonObject, string] => [
      `with a date that is ${JSON.stringify(value)}`,
      { 'org.iso.18013.5.1': { birth_date: value } },
      'credential_dataset["org.iso.18013.5.1"].birth_date: it must be a text with a date, as 2026-12-31',
    ]),
    ...[5, { a: 'b' }].map((value): [string, JsonObject, string] => [
      `with a picture that is ${JSON.stringify(value)}`,
      { 'org.iso.18013.5.1': { portrait: value } },
      '.portrait: it must be a text in base64 or base64url',
    ]),
    [
      'with a birth date that is known in part',
      { 'org.iso.23220.1': { birth_date: { birth_date: '1990-01-01', approximate_mask: '00001111' } } },
      'taken',
    ],
    ['with a number where no definition says what it is', { other: { birth_date: 19900101 } }, 'taken'],
  ])('%s', (_, dataset, expected) => {
    expect(refusalOrTaken(() => refuseInvalidDataset(dataset))).toContain(expected)
  })
})

describe('a query', () => {
  const path = 'must be two strings, a namespace and an element'
  it.each<[string, JsonObject, readonly string[]]>([
    ['for a type', { meta: { doctype_value: 'a' } }, []],
    ['without a type', { meta: {} }, []],
    ['without meta, which is judged elsewhere', { claims: [{ path: ['a', 'b'] }] }, []],
    ['for a type that is empty', { meta: { doctype_value: '' } }, ['q.meta.doctype_value: must be a non-empty string']],
    ['for the type of another format', { meta: { vct_values: [] } }, ['q.meta.vct_values: does not go with this']],
    ['for elements', { claims: [{ path: ['a', 'b'], intent_to_retain: false }] }, []],
    ['for claims that are not a list, which is judged elsewhere', { claims: { 0: { path: ['a'] } } }, []],
    ['for a claim that is none, which is judged elsewhere', { claims: [7] }, []],
    ['for a namespace', { claims: [{ path: ['a'] }] }, [`q.claims[0].path: ${path}`]],
    ['for what is inside', { claims: [{ path: ['a', 'b'] }, { path: ['a', 'b', 0] }] }, [`q.claims[1].path: ${path}`]],
    ['for an index', { claims: [{ path: ['a', 0] }] }, [`q.claims[0].path: ${path}`]],
    ['for a text', { claims: [{ path: 'ab' }] }, [`q.claims[0].path: ${path}`]],
    [
      'with an intent that is none',
      { claims: [{ path: ['a', 'b'], intent_to_retain: 1 }] },
      ['q.claims[0].intent_to_retain: must be true or false'],
    ],
  ])('%s', (_, query, expected) => {
    const found = [...findQueryMistakes(msoMdoc, query, 'q')]
    expect(found).toEqual(expected.map((each) => expect.stringContaining(each) as string))
  })

  it('is for a document of its type, or for any', () => {
    const matching = (meta: JsonObject) => matchesMeta({ types: ['a'] }, meta)
    expect([matching({ doctype_value: 'a' }), matching({}), matching({ doctype_value: 'b' })]).toEqual([
      true,
      true,
      false,
    ])
    expect(matching({ doctype_value: ['a'] })).toBe(false)
    expect(matchesMeta({ types: ['a', 'b'] }, { doctype_value: 'b' })).toBe(true)
  })
})
