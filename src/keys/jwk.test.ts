import { createHash, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError, readOrProblem } from '../codec/malformed.ts'
import { importPublicKey, type PublicJwk, readPublicJwk, readSigningJwk, thumbprint } from './jwk.ts'
import { type Algorithm, algorithmOf, algorithms } from './signature.ts'

/** Points of order 1, 2, 4 and 8 on Curve25519 in its Edwards form: `y` as it is written, and above the prime. */
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000000',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]

// RFC 7517 appendix A.1, the EC key.
const key: PublicJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

// RFC 8037 appendix A.2.
const ed25519: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const zeros = (bytes: number) => toBase64url(Buffer.alloc(bytes))

describe('a public key as JSON', () => {
  it('is read without what else is said of it', () => {
    expect(readPublicJwk({ ...key, use: 'enc', kid: '1', key_ops: [], alg: 'ES256', x5c: [] })).toEqual(key)
  })

  it.each(['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth'])('is refused when it has the private member %s', (member) => {
    for (const value of ['AAAA', null, '']) {
      expect(() => readPublicJwk({ ...key, [member]: value })).toThrow(MalformedError)
      expect(() => readPublicJwk({ ...key, [member]: value })).toThrow(/private/)
    }
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'EC'],
    ['an array', [key]],
    ['an empty object', {}],
    ['an RSA key', { kty: 'RSA', n: 'AQAB', e: 'AQAB' }],
    ['a shared secret', { kty: 'oct' }],
    ['a key to agree on secrets with', { kty: 'OKP', crv: 'X25519', x: key.x }],
    ['another curve', { ...key, crv: 'P-384' }],
    ['the curve of Bitcoin', { ...key, crv: 'secp256k1' }],
    ['a curve in small letters', { ...key, crv: 'p-256' }],
    ['P-384 with coordinates of P-521', { ...key, crv: 'P-384', x: zeros(66), y: zeros(66) }],
    ['P-521 with coordinates without their first zero', { ...key, crv: 'P-521', x: zeros(65), y: zeros(65) }],
    ['Ed25519 that says EC', { ...ed25519, kty: 'EC' }],
    ['P-256 that says OKP', { ...key, kty: 'OKP' }],
    ['Ed448', { kty: 'OKP', crv: 'Ed448', x: zeros(57) }],
    ['Ed25519 in 31 bytes', { ...ed25519, x: zeros(31) }],
    ['Ed25519 in 33 bytes', { ...ed25519, x: zeros(33) }],
    ['Ed25519 without x', { kty: 'OKP', crv: 'Ed25519' }],
    ['Ed25519 with its private part', { ...ed25519, d: ed25519.x }],
    ['no x', { ...key, x: undefined }],
    ['a number for x', { ...key, x: 1 }],
    ['an x that is short', { ...key, x: key.x.slice(0, 40) }],
    ['an x that is long', { ...key, x: toBase64url(Buffer.alloc(33, 1)) }],
    ['an x with padding', { ...key, x: `${key.x}=` }],
    ['an x in another alphabet', { ...key, y: key.y.replace('4', '+') }],
    ['an x with bits that are dropped', { ...key, x: `${key.x.slice(0, -1)}5` }],
    ['an inherited key', Object.create(key)],
  ])('is refused when it is %s', (_, value) => expect(() => readPublicJwk(value)).toThrow(MalformedError))

  it('is ready to verify with when it is a point on the curve, and refused when it is not', () => {
    expect(importPublicKey(key).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
    const zero = toBase64url(Buffer.alloc(32))
    const large = toBase64url(Buffer.alloc(32, 0xff))
    for (const change of [{ y: key.x }, { x: zero }, { x: zero, y: zero }, { x: large }, { y: large }]) {
      expect(() => importPublicKey({ ...key, ...change })).toThrow(MalformedError)
    }
  })

  it('leaves the stack traces of later errors as they were', () => {
    for (const change of [{}, { y: key.x }]) {
      Error.stackTraceLimit = 7
      readOrProblem(() => importPublicKey({ ...key, ...change }))
      expect(Error.stackTraceLimit).toBe(7)
    }
  })

  it.each(Object.keys(algorithms) as Algorithm[])('is read, with the thumbprint of jose, for %s', async (algorithm) => {
    const { namedCurve, crv } = algorithms[algorithm]
    const generate = promisify(generateKeyPair)
    const { publicKey } = await (namedCurve === undefined ? generate('ed25519') : generate('ec', { namedCurve }))
    const exported = publicKey.export({ format: 'jwk' })
    const jwk = readPublicJwk({ ...exported, kid: 'a', alg: algorithm })
    expect(jwk).toEqual(exported)
    expect(jwk.crv).toBe(crv)
    const spki = (each: KeyObject) => each.export({ type: 'spki', format: 'der' }).toString('hex')
    expect(spki(importPublicKey(jwk))).toBe(spki(publicKey))
    expect(thumbprint(jwk)).toBe(await calculateJwkThumbprint({ ...jwk }))
    expect(algorithmOf(importPublicKey(jwk))).toBe(algorithm)
  })

  it('has the thumbprint of RFC 8037 appendix A.3', () =>
    expect(thumbprint(ed25519)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'))

  it.each(SMALL_ORDER)('is refused when anybody can sign for it: Ed25519 %s', (hex) => {
    const bytes = Buffer.from(hex, 'hex')
    const x = toBase64url(bytes)
    expect(() => readPublicJwk({ ...ed25519, x })).toThrow(/anybody/)
    bytes[31] = (bytes[31] ?? 0) ^ 0x80
    expect(() => readPublicJwk({ ...ed25519, x: toBase64url(bytes) })).toThrow(/anybody/)
  })

  it('has the thumbprint that jose computes, whatever the order of its members', async () => {
    expect(thumbprint(key)).toBe(await calculateJwkThumbprint({ ...key }))
    expect(thumbprint({ y: key.y, x: key.x, crv: key.crv, kty: key.kty })).toBe(thumbprint(key))
  })

  it('has a thumbprint of its required members only', () => {
    const text = `{"crv":"P-256","kty":"EC","x":"${key.x}","y":"${key.y}"}`
    expect(thumbprint(readPublicJwk({ ...key, kid: 'x' }))).toBe(createHash('sha256').update(text).digest('base64url'))
  })
})

describe('a key for signatures', () => {
  it.each<[string, object]>([
    ['nothing of its use', {}],
    ['sig', { use: 'sig' }],
    ['verify among its operations', { key_ops: ['deriveBits', 'verify'] }],
    ['the operation of its private key', { key_ops: ['sign'] }],
    ['an alg of its curve', { alg: 'ES256' }],
  ])('says %s', (_, more) => expect(readSigningJwk({ ...key, ...more })).toEqual(key))

  it.each(['EdDSA', 'Ed25519'])('on Ed25519 says %s', (alg) =>
    expect(readSigningJwk({ ...ed25519, alg })).toEqual(ed25519),
  )

  it.each<[string, object, RegExp]>([
    ['another use', { use: 'enc' }, /its use is not sig/],
    ['a use that is no text', { use: ['sig'] }, /its use is not sig/],
    ['other operations', { key_ops: ['deriveBits', 'encrypt'] }, /neither verify nor sign/],
    ['no operations', { key_ops: [] }, /neither verify nor sign/],
    ['operations in a text', { key_ops: 'verify' }, /neither verify nor sign/],
    ['the alg of another curve', { alg: 'ES384' }, /not for its alg/],
    ['the alg of an encryption', { alg: 'ECDH-ES' }, /not for its alg/],
    ['an alg that is no text', { alg: null }, /not for its alg/],
  ])('does not say %s', (_, more, why) => {
    expect(() => readSigningJwk({ ...key, ...more })).toThrow(MalformedError)
    expect(() => readSigningJwk({ ...key, ...more })).toThrow(why)
  })
})
