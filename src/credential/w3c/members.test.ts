import { describe, expect, it } from 'vitest'
import type { Order } from '../format.ts'
import { credentialStatusMember, hasOrderedMembers } from './members.ts'

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
