import { describe, expect, it } from 'vitest'
import { nearestName } from './misspelling.ts'

const MEMBERS = ['id', 'format', 'claims', 'claim_sets', 'multiple', 'require_cryptographic_holder_binding']

describe('a name that is nearly a known one', () => {
  it.each([
    ['claim', 'claims'],
    ['cliams', 'claims'],
    ['Claims', 'claims'],
    ['claimSets', 'claim_sets'],
    ['claim-sets', 'claim_sets'],
    ['mutliple', 'multiple'],
    ['require_cryptografic_holder_binding', 'require_cryptographic_holder_binding'],
  ])('%s is told as %s', (name, nearest) => expect(nearestName(name, MEMBERS)).toBe(nearest))

  it.each(['claims', 'purpose', 'ids', 'name', 'x', '', 'formatting', '__proto__', 'a'.repeat(10_000)])(
    '%s is none',
    (name) => expect(nearestName(name, MEMBERS)).toBe(undefined),
  )

  it('is told as the nearest', () => {
    expect(nearestName('credentialss', ['credential_sets', 'credentials'])).toBe('credentials')
  })
})
