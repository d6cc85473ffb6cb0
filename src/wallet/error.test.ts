import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { makePrivateJwk, publicPartOf } from '../keys/private-jwk.ts'
import { readDcqlQuery } from '../protocol/dcql.ts'
import type { WalletContext } from './context.ts'
import { exchangeMembers } from './credential-encryption.ts'
import { readOrRefuseWith, WalletError } from './error.ts'
import { readTransactions } from './transaction.ts'

describe('an error of the wallet about what cannot be read', () => {
  const query = readDcqlQuery({ credentials: [{ id: 'a', format: 'dc+sd-jwt', meta: { vct_values: ['a'] } }] })
  const answer = new Response('not a JWE', { headers: { 'content-type': 'application/jwt' } })
  const wallet = { random: randomBytes, fetch: () => Promise.resolve(answer) } as unknown as WalletContext
  const exchange = { what: '', means: '', spec: '', url: 'https://issuer.example/credential' }
  const encryption = {
    request: { jwk: publicPartOf(makePrivateJwk(randomBytes)), alg: 'ECDH-ES', kid: 'k', enc: 'A128GCM' },
    response: 'A128GCM',
  } as const

  it.each<[string, () => unknown]>([
    ['an answer in JSON', () => readOrRefuseWith('invalid_response', 'the answer', () => parseJson('no'))],
    ['a transaction', () => readTransactions({ transaction_data: ['e30x'] }, query)],
    ['an encrypted answer', () => exchangeMembers(wallet, exchange, encryption, {})],
  ])('has the reason of the reader as its cause: %s', async (_, run) => {
    const error: unknown = await Promise.resolve()
      .then(run)
      .catch((each: unknown) => each)
    expect(error).toBeInstanceOf(WalletError)
    expect((error as WalletError).cause).toBeInstanceOf(MalformedError)
  })
})
