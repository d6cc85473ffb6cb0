import { createHash } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { importPublicKey, type PublicJwk, readPublicJwk, thumbprint } from './jwk.ts'

// RFC 7517 appendix A.1, the EC key.
const key: PublicJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

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

  it('has the thumbprint that jose computes, whatever the order of its members', async () => {
    expect(thumbprint(key)).toBe(await calculateJwkThumbprint({ ...key }))
    expect(thumbprint({ y: key.y, x: key.x, crv: key.crv, kty: key.kty })).toBe(thumbprint(key))
  })

  it('has a thumbprint of its required members only', () => {
    const text = `{"crv":"P-256","kty":"EC","x":"${key.x}","y":"${key.y}"}`
    expect(thumbprint(readPublicJwk({ ...key, kid: 'x' }))).toBe(createHash('sha256').update(text).digest('base64url'))
  })
})
