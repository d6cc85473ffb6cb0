import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { base58 } from '@scure/base'
import { beforeAll, describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { didOf, didUrlOf, readDid, toDidJwk, toDidKey } from './did.ts'
import { importPublicKey, type PublicJwk, readPublicJwk } from './jwk.ts'
import { type Algorithm, algorithms } from './signature.ts'

// RFC 7517 appendix A.1, the EC key.
const key: PublicJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

describe('did:jwk', () => {
  let made: PublicJwk
  beforeAll(async () => {
    const { publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
    made = readPublicJwk(publicKey.export({ format: 'jwk' }))
  })
  const did = (value: unknown) => `did:jwk:${toBase64url(JSON.stringify(value))}`

  it('carries a key, as itself and as the address of its one key', () => {
    expect(readDid(toDidJwk(made))).toEqual(made)
    expect(readDid(`${toDidJwk(made)}#0`)).toEqual(made)
  })

  it('is read and made as in the example of the did:jwk specification', () => {
    const example =
      'did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5' +
      'IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9'
    const jwk: PublicJwk = {
      kty: 'EC',
      crv: 'P-256',
      x: 'acbIQiuMs3i8_uszEjJ2tpTtRM4EU3yz91PH6CdH2V0',
      y: '_KcyLj9vWMptnmKtm46GqDz8wf74I5LKgrl2GzH3nSE',
    }
    expect(readDid(example)).toEqual(jwk)
    expect(toDidJwk(jwk)).toBe(example)
  })

  it.each<[string, string]>([
    ['nothing', ''],
    ['another method', 'did:web:example.com'],
    ['another scheme', did(key).replace('did:', 'DID:')],
    ['without a key', 'did:jwk:'],
    ['with another fragment', `${did(key)}#1`],
    ['with an empty fragment', `${did(key)}#`],
    ['with a fragment twice', `${did(key)}#0#0`],
    ['with padding', `${did(key)}=`],
    ['with a path', `${did(key)}/0`],
    ['with a query', `${did(key)}?a=b`],
    ['no JSON', 'did:jwk:AAAA'],
    ['an array', did([key])],
    ['a private key', did({ ...key, d: key.x })],
    ['a key of another kind', did({ kty: 'RSA' })],
    ['something before it', ` ${did(key)}`],
    ['a line behind it', `${did(key)}\n`],
  ])('is refused when it is %s', (_, text) => expect(() => readDid(text)).toThrow(MalformedError))
})

describe('did:key', () => {
  // The test vectors of the did:key method, section Test Vectors; the last is an example of the EBSI profile for
  // natural persons, whose key is JSON.
  const vectors: readonly [string, PublicJwk['crv'], string | undefined][] = [
    [
      'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp',
      'Ed25519',
      'O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik',
    ],
    [
      'did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169',
      'P-256',
      'fyNYMN0976ci7xqiSdag3buk-ZCwgXU4kz9XNkBlNUI',
    ],
    ['did:key:zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv', 'P-256', undefined],
    [
      'did:key:z82Lm1MpAkeJcix9K8TMiLd5NMAhnwkjjCBeWHXyu3U4oT2MVJJKXkcVBgjGhnLBn2Kaau9',
      'P-384',
      'lInTxl8fjLKp_UCrxI0WDklahi-7-_6JbtiHjiRvMvhedhKVdHBfi2HCY8t_QJyc',
    ],
    ['did:key:z82LkvCwHNreneWpsgPEbV3gu1C6NFJEBg4srfJ5gdxEsMGRJUz2sG9FE42shbn2xkZJh54', 'P-384', undefined],
    [
      'did:key:z2J9gaYxrKVpdoG9A4gRnmpnRCcxU6agDtFVVBVdn1JedouoZN7SzcyREXXzWgt3gGiwpoHq7K68X4m32D8HgzG8wv3sY5j7',
      'P-521',
      'ASUHPMyichQ0QbHZ9ofNx_l4y7luncn5feKLo3OpJ2nSbZoC7mffolj5uy7s6KSKXFmnNWxGJ42IOrjZ47qqwqyS',
    ],
    [
      'did:key:z2J9gcGdb2nEyMDmzQYv2QZQcM1vXktvy1Pw4MduSWxGabLZ9XESSWLQgbuPhwnXN7zP7HpTzWqrMTzaY5zWe6hpzJ2jnw4f',
      'P-521',
      undefined,
    ],
    [
      'did:key:z2dmzD81cgPx8Vki7JbuuMmFYrWPgYoytykUZ3eyqht1j9KbrvQgsKodq2xnfBMYGk99qtunHHQuvvi35kRvbH9SDnue2ZNJqcnaU7yAxeKqEqDX4qFzeKYCj6rdbFnTsf4c8QjFXcgGYS21Db9d2FhHxw9ZEnqt9KPgLsLbQHVAmNNZoz',
      'P-256',
      undefined,
    ],
  ]
  const PREFIXES = { 'P-256': '8024', 'P-384': '8124', 'P-521': '8224', Ed25519: 'ed01' }

  /** Makes the DID of a key, as the method says it is made: the other way round than the code that is tested. */
  function didOfKey(jwk: PublicJwk): string {
    const x = Buffer.from(jwk.x, 'base64url')
    const isOdd = jwk.kty === 'EC' && ((Buffer.from(jwk.y, 'base64url').at(-1) ?? 0) & 1) === 1
    const point = jwk.kty === 'EC' ? [Buffer.from([isOdd ? 3 : 2]), x] : [x]
    return did(Buffer.concat([Buffer.from(PREFIXES[jwk.crv], 'hex'), ...point]))
  }
  const did = (bytes: Uint8Array) => `did:key:z${base58.encode(bytes)}`
  const jcs = (jwk: unknown) => did(Buffer.concat([Buffer.from('d1d603', 'hex'), Buffer.from(JSON.stringify(jwk))]))

  it.each(vectors)('carries the key of %s', (text, crv, x) => {
    const read = readDid(text)
    expect(read).toMatchObject({ crv, ...(x === undefined ? {} : { x }) })
    expect(importPublicKey(read).type).toBe('public')
    const id = text.slice('did:key:'.length)
    expect(readDid(`${text}#${id}`)).toEqual(read)
    const sorted = read.kty === 'EC' ? { crv: read.crv, kty: read.kty, x: read.x, y: read.y } : read
    expect(text.startsWith('did:key:z2dmz') ? jcs(sorted) : didOfKey(read)).toBe(text)
    expect(didOf(`${text}#${id}`)).toBe(text)
    for (const wrong of [`${text}#0`, `${text}#`, `${text}#${id}#${id}`, `${text}#${id}x`, `${text}1`, `${text}0`]) {
      expect(() => readDid(wrong), wrong).toThrow(MalformedError)
    }
    expect(() => readDid(`did:key:${id.slice(1)}`)).toThrow(/begins with z/)
    expect(() => readDid(`did:key:f${id.slice(1)}`)).toThrow(/begins with z/)
  })

  it.each(Object.keys(algorithms) as Algorithm[])('carries any key for %s', async (algorithm) => {
    const { namedCurve } = algorithms[algorithm]
    const generate = promisify(generateKeyPair)
    for (let each = 0; each < 20; each++) {
      const { publicKey } = await (namedCurve === undefined ? generate('ed25519') : generate('ec', { namedCurve }))
      const jwk = readPublicJwk(publicKey.export({ format: 'jwk' }))
      expect(readDid(didOfKey(jwk))).toEqual(jwk)
      expect(readDid(jcs(jwk))).toEqual(jwk)
      expect(readDid(toDidJwk(jwk))).toEqual(jwk)
      expect(toDidKey(jwk)).toBe(didOfKey(jwk))
      for (const each of [toDidJwk(jwk), toDidKey(jwk)]) expect(readDid(didUrlOf(each))).toEqual(jwk)
    }
  })

  const compressed = Buffer.from(base58.decode('DnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169'))
  it.each<[string, string]>([
    ['nothing', 'did:key:z'],
    ['a kind without a key', did(compressed.subarray(0, 2))],
    ['a key that is short', did(compressed.subarray(0, -1))],
    ['a key that is long', did(Buffer.concat([compressed, Buffer.alloc(1)]))],
    ['the key of one kind under the name of another', did(Buffer.concat([Buffer.from('8124', 'hex'), compressed]))],
    ['a point that is not compressed', did(Buffer.concat([Buffer.from('802404', 'hex'), Buffer.alloc(64, 1)]))],
    ['the point zero', did(Buffer.concat([Buffer.from('802400', 'hex'), Buffer.alloc(32)]))],
    ['a point off the curve', did(Buffer.concat([Buffer.from('802402', 'hex'), Buffer.alloc(32, 0xff)]))],
    ['Ed25519 in 31 bytes', did(Buffer.concat([Buffer.from('ed01', 'hex'), Buffer.alloc(31, 1)]))],
    ['Ed25519 in 33 bytes', did(Buffer.concat([Buffer.from('ed01', 'hex'), Buffer.alloc(33, 1)]))],
    ['X25519', did(Buffer.concat([Buffer.from('ec01', 'hex'), Buffer.alloc(32, 1)]))],
    ['secp256k1', did(Buffer.concat([Buffer.from('e701', 'hex'), Buffer.alloc(33, 2)]))],
    ['JSON with a private key', jcs({ ...key, d: key.x })],
    ['JSON of another kind', jcs({ kty: 'RSA' })],
    ['JSON that is none', did(Buffer.from('d1d60300', 'hex'))],
    ['letters that base58 has not', 'did:key:z0OIl'],
    ['letters of other scripts', 'did:key:zДß'],
    ['something before it', ' did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169'],
  ])('is refused when it is %s', (_, text) => expect(() => readDid(text)).toThrow(MalformedError))

  it('is bounded, so that nobody buys our time with a long one', async () => {
    const long = jcs({ ...key, note: 'a'.repeat(600) })
    expect(() => readDid(long)).toThrow(/512/)
    expect(() => readDid(`did:key:z${'1'.repeat(511)}`)).toThrow(/kind/)
    const huge = `did:key:z${'z'.repeat(1_000_000)}`
    expect(await partOfLimit(200, () => expect(() => readDid(huge)).toThrow(/512/))).toBeLessThan(1)
  })
})
