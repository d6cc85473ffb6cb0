import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../codec/json.ts'
import { findW3cClaimMistakes } from './claims.ts'

const mistakes = (...claims: readonly JsonObject[]) => [...findW3cClaimMistakes({ claims: [...claims] }, 'q')]

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
    expect([...findW3cClaimMistakes({}, 'q')]).toEqual([])
  })
})
