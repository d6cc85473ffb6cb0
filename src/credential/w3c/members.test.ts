import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../../test/support/processor-time.ts'
import type { JsonObject } from '../../codec/json.ts'
import type { Order } from '../format.ts'
import {
  credentialStatusMember,
  hasOrderedMembers,
  isoSeconds,
  matchesTypeValues,
  typeValuesOf,
  w3cEvidence,
} from './members.ts'

const V1 = 'https://www.w3.org/2018/credentials/v1'
const V2 = 'https://www.w3.org/ns/credentials/v2'
const EXPANDED = 'https://www.w3.org/2018/credentials#VerifiableCredential'
const uri = 'https://issuer.example/status-list/a'
const none = { dataset: { credentialSubject: { name: 'Ada' } } } as unknown as Order
const order: Order = {
  ...none,
  status: { index: 7, uri, bitstrings: [{ purpose: 'revocation', uri: `${uri}/revocation` }] },
}

describe('the status of a W3C credential', () => {
  const entry = {
    id: `${uri}/revocation#7`,
    type: 'BitstringStatusListEntry',
    statusPurpose: 'revocation',
    statusListIndex: '7',
    statusListCredential: `${uri}/revocation`,
  }
  const status = { status_list: { idx: 7, uri } }
  const claims = { credentialSubject: { name: 'Ada' }, credentialStatus: [entry] }

  it('names each list that was ordered, its index as a text', () => {
    expect(credentialStatusMember(order)).toEqual({ credentialStatus: [entry] })
    expect(credentialStatusMember({ ...order, status: { index: 7, uri } })).toEqual({})
    expect(credentialStatusMember(none)).toEqual({})
  })

  it.each([
    ['as ordered', true, claims, status],
    ['with another subject', false, { ...claims, credentialSubject: { name: 'Eve' } }, status],
    ['without the lists', false, { credentialSubject: claims.credentialSubject }, status],
    ['with one list more', false, { ...claims, credentialStatus: [entry, entry] }, status],
    ['with another index', false, { ...claims, credentialStatus: [{ ...entry, statusListIndex: '8' }] }, status],
    ['with another token', false, claims, { status_list: { idx: 8, uri } }],
    ['without a token', false, claims, undefined],
  ])('%s: %s', (_, expected, found, named) => {
    expect(hasOrderedMembers(order, { claims: found, status: named })).toBe(expected)
  })

  it('that was not ordered is not taken', () => {
    expect(hasOrderedMembers(none, { claims: { credentialSubject: { name: 'Ada' } }, status: undefined })).toBe(true)
    expect(hasOrderedMembers(none, { claims, status: undefined })).toBe(false)
  })
})

describe('what a W3C credential says', () => {
  const at = (text: string) => new Date(text)

  it('is said by the JWT and by the credential, each in its own words', () => {
    const payload = { iss: 'a', nbf: 1, exp: 2, status: { status_list: { idx: 7, uri } } }
    const claims = {
      type: ['VerifiableCredential'],
      issuer: { id: 'b' },
      ...{ validFrom: '2026-01-01T00:00:00Z', validUntil: '2026-01-02T00:00:00Z' },
      ...{ issuanceDate: '2026-01-03T00:00:00Z', expirationDate: '2026-01-04T00:00:00Z' },
      credentialStatus: { type: 'X' },
    }
    expect(w3cEvidence(payload, claims)).toEqual({
      identifiers: ['a', 'b'],
      types: ['VerifiableCredential'],
      validity: {
        notBefore: [
          { member: 'nbf', at: new Date(1000) },
          { member: 'validFrom', at: at('2026-01-01T00:00:00Z') },
          { member: 'issuanceDate', at: at('2026-01-03T00:00:00Z') },
        ],
        notAfter: [
          { member: 'exp', at: new Date(2000) },
          { member: 'validUntil', at: at('2026-01-02T00:00:00Z') },
          { member: 'expirationDate', at: at('2026-01-04T00:00:00Z') },
        ],
      },
      status: payload.status,
      credentialStatus: [{ type: 'X' }],
    })
  })

  it('is that it has no issuer, when it names none; of the rest, nothing need be said', () => {
    expect(w3cEvidence({}, {})).toEqual({
      ...{ identifiers: [''], types: [], validity: { notBefore: [], notAfter: [] }, status: undefined },
    })
    expect(w3cEvidence({}, {})).not.toHaveProperty('credentialStatus')
  })
})

it('a time has no fractions', () => {
  expect(isoSeconds(new Date('2026-01-01T00:00:00.999Z'))).toBe('2026-01-01T00:00:00Z')
  expect(isoSeconds(new Date('+012026-01-01T00:00:00.123Z'))).toBe('+012026-01-01T00:00:00Z')
})

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
