import { describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { refusalOrTaken } from '../../../test/support/refusal.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { findQueryMistakes } from '../formats.ts'
import { w3cJwt } from '../w3c-jwt/index.ts'
import { findW3cQueryMistakes, parseDefinition, refuseInvalidW3cDataset } from './validation.ts'

describe('the definition of a configuration', () => {
  const type = ['VerifiableCredential', 'Card']
  it.each<[string, JsonObject, string]>([
    ['with types', { credential_definition: { type } }, 'taken'],
    ['that is missing', {}, 'credential_definition: this format needs it, with a type'],
    [
      'that is not an object',
      { credential_definition: [type] },
      'credential_definition: this format needs it, with a type',
    ],
    [
      'without types',
      { credential_definition: {} },
      'credential_definition.type: it must be a non-empty array of strings',
    ],
    [
      'without the type of all',
      { credential_definition: { type: ['Card'] } },
      'credential_definition.type: it must contain VerifiableCredential',
    ],
  ])('%s', (_, configuration, expected) => {
    const parse = () => parseDefinition({ format: 'jwt_vc_json', ...configuration }, 'a type')
    expect(refusalOrTaken(parse)).toBe(expected)
    if (expected === 'taken') expect(parse()).toEqual({ types: type, contexts: undefined })
  })
})

describe('a dataset', () => {
  it.each<[Json, string]>([
    [{ credentialSubject: { a: 1 } }, 'taken'],
    [{}, 'credential_dataset.credentialSubject: it must be an object with the claims of the subject'],
    [
      { credentialSubject: [] },
      'credential_dataset.credentialSubject: it must be an object with the claims of the subject',
    ],
    [
      { credentialSubject: {}, issuer: 'x' },
      'credential_dataset.issuer: the format jwt_vc_json takes credentialSubject and nothing else',
    ],
    [{ credentialSubject: { id: 'did:example:1' } }, 'taken'],
    ...[' did:example:1', 'did:example:1\n', 'https://a.example/\u007f', 'https://a.example/a b', 'x'].map(
      (id): [Json, string] => [
        { credentialSubject: { id } },
        'credential_dataset.credentialSubject.id: it must be a URL, such as did:example:1 or https://example.org/1',
      ],
    ),
    [{ credentialSubject: { a: { _sd: 1 } } }, 'credential_dataset.credentialSubject.a._sd: this name is reserved'],
  ])('%j', (dataset, expected) => {
    const definition = { type: ['VerifiableCredential'] }
    const configuration = configurationOf({ format: 'jwt_vc_json', credential_definition: definition })
    expect(refusalOrTaken(() => refuseInvalidW3cDataset(dataset as JsonObject, configuration))).toBe(expected)
  })
})

describe('a query', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['for types', { meta: { type_values: [['A'], ['B', 'C']] } }, []],
    ['for any type', { meta: {} }, []],
    ['without meta, which is judged elsewhere', {}, []],
    ['for no alternatives', { meta: { type_values: [] } }, ['q.meta.type_values: must be a non-empty array']],
    ['for no types', { meta: { type_values: [['A'], []] } }, ['q.meta.type_values[1]: must be a non-empty array']],
    ['for an empty type', { meta: { type_values: [['A', '']] } }, ['q.meta.type_values[0][1]: must be a non-empty']],
    ['for a type of another format', { meta: { vct_values: ['A'] } }, ['q.meta.vct_values: does not go with this']],
    [
      'for claims that there are not',
      { meta: {}, claims: [{ path: ['iss'] }] },
      ['q.claims[0].path[0]: is not a member'],
    ],
  ])('%s', (_, query, expected) => {
    const found = [...findQueryMistakes(w3cJwt, query, 'q')]
    expect(found).toEqual(expected.map((each) => expect.stringContaining(each) as string))
  })
})

const mistakes = (...claims: readonly JsonObject[]) => [...findW3cQueryMistakes({ claims: [...claims] }, 'q')]

describe('a query for claims of a W3C credential', () => {
  it.each([
    ['iss', 'ask for issuer'],
    ['sub', 'ask for id in credentialSubject'],
    ['jti', 'ask for id'],
    ['iat', 'ask for validFrom'],
    ['nbf', 'ask for validFrom'],
    ['exp', 'ask for validUntil'],
    ['status', 'it is looked at anyway'],
    ['cnf', 'the binding to its holder is verified anyway'],
    ['vc', 'paths begin inside vc, so leave it out'],
  ])('is told what to ask for instead of %s', (name, instead) => {
    const sentence = `q.claims[1].path[0]: is not a member of a W3C credential; ${instead}`
    expect(mistakes({ path: ['type'] }, { path: [name] })).toEqual([sentence])
    expect(mistakes({ path: ['type'] }, { path: [name, 'x'] })).toEqual([sentence])
  })

  it.each(['id', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate'])(
    'may want %s to be a text, and nothing else',
    (name) => {
      const sentence = `q.claims[0].values: ${name} is a text, and none of these is one`
      expect(mistakes({ path: [name], values: [1, true] })).toEqual([sentence])
      expect(mistakes({ path: [name], values: [1, 'x'] })).toEqual([])
      expect(mistakes({ path: [name] })).toEqual([])
      // A mistake inside of a text is not a mistake of its values.
      expect(mistakes({ path: [name, 'x'], values: [1] })).toEqual([])
    },
  )

  it('may want a claim of the subject to have a value, and not the subject', () => {
    expect(mistakes({ path: ['credentialSubject'], values: ['x'] })).toEqual([
      'q.claims[0].values: credentialSubject is an object; ask for a claim inside it',
    ])
    expect(mistakes({ path: ['credentialSubject'] })).toEqual([])
    expect(mistakes({ path: ['credentialSubject', 'name'], values: ['x'] })).toEqual([])
    expect(mistakes({ path: ['issuer'], values: [1] })).toEqual([])
  })

  it('is judged elsewhere where it cannot be read', () => {
    expect(mistakes({ path: 'iss' }, {}, { path: [0] }, { path: [null] })).toEqual([])
    expect([...findW3cQueryMistakes({}, 'q')]).toEqual([])
  })
})
