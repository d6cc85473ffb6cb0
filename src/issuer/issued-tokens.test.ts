import { expect, it } from 'vitest'
import { removeWallet } from './issued-tokens.ts'

it('tokens that have ended name neither the client nor its key any more, and keep what tells a reuse', () => {
  const token = { digest: 'd', expiresAt: 1, issuedBefore: 2 }
  const refresh = { until: 1, digest: 'r', spent: ['s'] }
  const client = { id: 'https://wallet.example', instance: 'thumbprint' }
  expect(removeWallet({ token: { ...token, jkt: 'thumbprint' }, client, refresh })).toEqual({ token, refresh })
  expect(removeWallet({ token, refresh })).toStrictEqual({ token, refresh })
})
