import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../../test/support/services.ts'
import { errorOf, testWallet } from '../../test/support/wallet.ts'
import { startIssuance } from '../../test/support/wire.ts'
import type { JsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import { createSigner } from '../keys/file-signer.ts'
import { algorithmOf, verifySignature } from '../keys/signature.ts'
import { readOrRefuseWith } from './error.ts'
import { makeHolderKey, readHolderKey } from './holder-key.ts'
import { receiveOffer } from './receive.ts'
import { listCredentials, requireCredential } from './stored-credential.ts'

describe('stored credentials', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  async function filled(count: number) {
    const made = testWallet(services.fetch, services.clock)
    for (let i = 0; i < count; i += 1) {
      services.clock.now = new Date(services.clock.now.getTime() + 1000)
      await receiveOffer(made.wallet, (await startIssuance(services)).link)
    }
    return made
  }

  it('come back as they were received, the newest first', async () => {
    const { wallet, texts } = await filled(3)
    const { credentials, unreadable } = await listCredentials(wallet.store)
    expect(credentials.map(({ id }) => id)).toEqual([...texts.keys()].reverse())
    expect(unreadable).toEqual([])
    expect(credentials[0]).toMatchObject({
      name: 'Student card',
      issuerName: 'Example University',
      types: ['VerifiableCredential', 'StudentCard'],
      claimNames: [{ path: ['credentialSubject', 'given_name'], name: 'Given name' }],
    })
  })

  it('are found by the beginning of their id', async () => {
    const { wallet, texts } = await filled(2)
    const [id = ''] = texts.keys()
    expect(id).toMatch(/^[0-9a-f]{10}$/)
    expect((await requireCredential(wallet.store, id.slice(0, 6))).id).toBe(id)
    expect((await errorOf(requireCredential(wallet.store, 'x'))).code).toBe('not_found')
    expect((await errorOf(requireCredential(wallet.store, ''))).code).toBe('not_found')
  })

  it('are not guessed between', async () => {
    const { wallet } = await filled(1)
    const store = { ...wallet.store, list: () => Promise.resolve(['abc1', 'abc2']) }
    expect((await errorOf(requireCredential(store, 'abc'))).message).toContain('2 credentials begin with abc')
  })

  it('are not called damaged when the disk is', async () => {
    const { wallet, texts } = await filled(1)
    const store = { ...wallet.store, read: () => Promise.reject(new Error('EIO')) }
    await expect(listCredentials(store)).rejects.toThrow('EIO')
    await expect(requireCredential(store, [...texts.keys()].join())).rejects.toThrow('EIO')
  })

  const damages: readonly (readonly [string, (record: JsonObject) => JsonObject | string, RegExp])[] = [
    ['cut short', (record) => JSON.stringify(record).slice(0, 100), /not JSON/],
    ['empty', () => '', /not JSON/],
    ['with another credential', (record) => ({ ...record, credential: 'x~' }), /not the one that was stored/],
    ['without a credential', (record) => ({ ...record, credential: 1 }), /no credential/],
    ['without its key', (record) => ({ ...record, holder_key: null }), /no holder key/],
    ['with a key that is none', (record) => ({ ...record, holder_key: {} }), /not a private key/],
    ['with another key', (record) => ({ ...record, holder_key: anotherKey() }), /not the one it is bound to/],
    ['with an unknown format', (record) => ({ ...record, format: 'x' }), /format "x" is unknown/],
    ['with claim names that are none', (record) => ({ ...record, claim_names: [{}] }), /claim name 0 has no path/],
    [
      'with a claim name whose path is none',
      (record) => ({ ...record, claim_names: [{ path: [{}], name: 'x' }] }),
      /claim name 0 has no path to a claim/,
    ],
    ['without a time', (record) => ({ ...record, received_at: null }), /when it was received/],
  ]

  it.each(damages)('that are damaged are named and left alone: one %s', async (_, damage, problem) => {
    const { wallet, texts } = await filled(2)
    const [id = '', good = ''] = texts.keys()
    const damaged = damage(JSON.parse(texts.get(id) ?? '') as JsonObject)
    const text = typeof damaged === 'string' ? damaged : JSON.stringify(damaged)
    texts.set(id, text)

    const { credentials, unreadable } = await listCredentials(wallet.store)
    expect(credentials.map((each) => each.id)).toEqual([good])
    expect(unreadable.map((each) => each.id)).toEqual([id])
    expect(unreadable[0]?.problem).toMatch(problem)
    const error = await errorOf(requireCredential(wallet.store, id))
    expect([error.code, error.message]).toEqual(['unreadable_credential', expect.stringMatching(problem)])
    await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(texts.get(id)).toBe(text)
    expect(texts.size).toBe(3)
  })
})

describe('orAbort', () => {
  it('refuses what is malformed, and lets mistakes of ours through', () => {
    expect(() => readOrRefuseWith('invalid_offer', 'it', () => malformed('why'))).toThrow('it: why')
    const mistake = () => {
      throw new TypeError('ours')
    }
    expect(() => readOrRefuseWith('invalid_offer', 'it', mistake)).toThrow(TypeError)
  })
})

describe('a holder key', () => {
  it('is made of the random bytes that are given', () => {
    const bytes = new Uint8Array(32).fill(7)
    expect(makeHolderKey(() => bytes).export({ format: 'jwk' }).d).toBe(Buffer.from(bytes).toString('base64url'))
  })

  it.each(['ES256', 'ES384', 'ES512', 'EdDSA'] as const)('can be one for %s', async (algorithm) => {
    // Every first byte: a key on P-521 has one bit in it.
    for (const first of [0, 1, 2, 0x7f, 0xfe]) {
      const key = makeHolderKey((count) => new Uint8Array(count).fill(5).fill(first, 0, 1), algorithm)
      expect(algorithmOf(key)).toBe(algorithm)
      const signature = await createSigner(key, []).sign(Buffer.from('data'))
      expect(verifySignature(createPublicKey(key), Buffer.from('data'), signature)).toBe(true)
      expect(readHolderKey(key.export({ format: 'jwk' }) as JsonObject).equals(key)).toBe(true)
    }
  })

  it('is tried again when the bytes are beyond the order of the curve, and not for ever', () => {
    const tries = [new Uint8Array(32).fill(255), new Uint8Array(32), new Uint8Array(32).fill(1)]
    expect(makeHolderKey(() => tries.shift() ?? new Uint8Array(0)).asymmetricKeyType).toBe('ec')
    expect(tries).toEqual([])
    expect(() => makeHolderKey(() => new Uint8Array(32))).toThrow()
  })
})

function anotherKey(): JsonObject {
  return makeHolderKey(() => new Uint8Array(32).fill(3)).export({ format: 'jwk' }) as JsonObject
}
