/** The typed data of `offchain-v2` as an independent library hashes and signs it. */

import { hashTypedData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { typedData } from '../../src/offchain/authentication/eip712.ts'
import { authorizationOf, requestFields } from '../../src/offchain/authentication/offchain-v2.ts'
import vectors from '../vectors/offchain-authentication.json' with { type: 'json' }

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

describe('a request as typed data', () => {
  it.each(vectors['offchain-v2'].filter(({ scheme }) => scheme === 'eip712'))(
    'is what viem signs: $note',
    async (vector) => {
      const { engine, contract, method, uri, content_type: type } = vector
      const headers = type === '' ? [] : [{ name: 'content-type', values: [type] }]
      const chain = { id: vector.chain_id, addresses: 'evm' as const }
      const life = { issuedAt: vector.issued_at, expiresAt: vector.expires_at, nonce: bytes(vector.nonce) }
      const fields = requestFields(
        { method, uri, headers, body: bytes(vector.body) },
        { engine, contract, chain },
        life,
      )
      if (fields === undefined) throw new Error('no fields')
      // The data is as it goes over the wire to a wallet.
      const data = JSON.parse(JSON.stringify(typedData(fields))) as Parameters<typeof hashTypedData>[0]
      expect(hashTypedData(data)).toBe(`0x${vector.digest}`)
      const account = privateKeyToAccount(`0x${vector.private_key}`)
      expect(`00${account.address.slice(2).toLowerCase()}`).toBe(vector.signer)
      const signature = bytes((await account.signTypedData(data)).slice(2))
      expect(authorizationOf(life, 'eip712', signature)).toBe(vector.authorization)
    },
  )
})
