import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { CompactSign } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeKey } from '../../test/support/services.ts'
import type { JsonObject } from '../codec/json.ts'
import { readJws } from '../codec/jws.ts'
import { MalformedError } from '../codec/malformed.ts'
import { isSignedByOneOf, readKeySet } from './key-set.ts'

const keys = new Map<string, KeyObject>()
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'RS256', 'PS256'] as const

beforeAll(async () => {
  for (const name of ['ES256', 'ES384', 'ES512', 'EdDSA'] as const) keys.set(name, await makeKey(name))
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  for (const name of ['RS256', 'PS256']) keys.set(name, privateKey)
})

const keyOf = (alg: string) => keys.get(alg) as KeyObject
const jwkOf = (alg: string) => createPublicKey(keyOf(alg)).export({ format: 'jwk' }) as JsonObject
const setOf = (...jwks: object[]) => readKeySet({ keys: jwks as JsonObject[] })
/** A signature by the JOSE library, so that both have to agree. */
const signed = async (alg: string, header: object = {}, key = keyOf(alg)) =>
  readJws(await new CompactSign(Buffer.from('{"a":1}')).setProtectedHeader({ alg, ...header }).sign(key))

describe('a key set', () => {
  it.each(ALGORITHMS)('verifies %s, by a key with or without kid and alg', async (alg) => {
    for (const more of [{}, { kid: 'a' }, { alg }, { use: 'sig' }, { key_ops: ['verify'] }]) {
      expect(isSignedByOneOf(setOf({ ...jwkOf(alg), ...more }), await signed(alg))).toBe(true)
    }
    expect(isSignedByOneOf(setOf({ ...jwkOf(alg), kid: 'a' }), await signed(alg, { kid: 'a' }))).toBe(true)
  })

  it.each(ALGORITHMS)('does not verify %s by another key, of another kid, or over other bytes', async (alg) => {
    const jws = await signed(alg, { kid: 'a' })
    const others = ALGORITHMS.filter((name) => jwkOf(name).kty !== jwkOf(alg).kty || jwkOf(name).crv !== jwkOf(alg).crv)
    expect(isSignedByOneOf(setOf(...others.map((name) => ({ ...jwkOf(name), kid: 'a' }))), jws)).toBe(false)
    expect(isSignedByOneOf(setOf({ ...jwkOf(alg), kid: 'b' }, jwkOf(alg)), jws)).toBe(false)
    const set = setOf({ ...jwkOf(alg), kid: 'a' })
    expect(isSignedByOneOf(set, { ...jws, signingInput: Buffer.concat([jws.signingInput, Buffer.of(1)]) })).toBe(false)
    expect(isSignedByOneOf(set, { ...jws, signature: jws.signature.subarray(1) })).toBe(false)
    expect(isSignedByOneOf(set, jws)).toBe(true)
  })

  it.each(['RS256', 'PS256'])('does not verify %s by a signature whose leading zero is left out', async (alg) => {
    const set = setOf(jwkOf(alg))
    let jws = await signed(alg)
    for (let number = 0; jws.signature[0] !== 0; number += 1) jws = await signed(alg, { number })
    expect(isSignedByOneOf(set, jws)).toBe(true)
    expect(isSignedByOneOf(set, { ...jws, signature: jws.signature.subarray(1) })).toBe(false)
  })

  it.each([
    ['RS256', 'PS256'],
    ['PS256', 'RS256'],
    ['RS256', 'RS512'],
    ['ES256', 'RS256'],
  ])('does not take a key that is published for %s for %s', async (stated, alg) => {
    const key = { ...jwkOf(stated), alg: stated }
    expect(isSignedByOneOf(setOf(key), await signed(alg, {}, keyOf(alg === 'RS512' ? 'RS256' : alg)))).toBe(false)
  })

  it('takes a key of Ed25519 by either name', async () => {
    const jws = await signed('EdDSA')
    expect(isSignedByOneOf(setOf({ ...jwkOf('EdDSA'), alg: 'Ed25519' }), jws)).toBe(true)
  })

  it.each([
    ['that is not an object', 'a'],
    ['to encrypt with', { use: 'enc' }],
    ['to sign with', { key_ops: ['sign'] }],
    ['for another algorithm', { alg: 'ES384' }],
    ['off the curve', { x: 'A'.repeat(43) }],
    ['with its private part', { d: 'AAAA' }],
  ])('passes over a key %s', async (_, change) => {
    const bad = typeof change === 'string' ? change : { ...jwkOf('ES256'), ...change }
    expect(readKeySet({ keys: [bad as JsonObject] })).toEqual([])
    expect(isSignedByOneOf(readKeySet({ keys: [bad as JsonObject, jwkOf('ES256')] }), await signed('ES256'))).toBe(true)
  })

  it.each([
    ['without n', { n: undefined }],
    ['without e', { e: undefined }],
    ['with an exponent of 1', { e: 'AQ' }],
    ['with an exponent of 3', { e: 'Aw' }],
    ['with its private part', { d: 'AAAA' }],
    ['of 2047 bits', { n: `f${'_'.repeat(341)}` }],
    ['of 8193 bits', { n: `AQ${'A'.repeat(1365)}` }],
    ['of a text', { n: 'ü' }],
  ])('passes over an RSA key %s', (_, change) => {
    expect(readKeySet({ keys: [{ ...jwkOf('RS256'), ...change } as JsonObject] })).toEqual([])
  })

  it('passes over secrets, so that no MAC verifies', async () => {
    const secret = Buffer.alloc(32, 1)
    const jws = readJws(await new CompactSign(Buffer.from('{"a":1}')).setProtectedHeader({ alg: 'HS256' }).sign(secret))
    expect(isSignedByOneOf(setOf({ kty: 'oct', k: secret.toString('base64url'), alg: 'HS256' }), jws)).toBe(false)
  })

  it.each([
    ['no keys', {}],
    ['keys that are not an array', { keys: {} }],
    ['101 keys', { keys: Array.from({ length: 101 }, () => ({})) }],
  ])('is none with %s', (_, set) => {
    expect(() => readKeySet(set as JsonObject)).toThrow(MalformedError)
  })
})
