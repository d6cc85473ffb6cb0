import { describe, expect, it } from 'vitest'
import type { Order } from '../format.ts'
import { credentialStatusMember, hasOrderedMembers, isoSeconds, w3cEvidence } from './members.ts'

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
