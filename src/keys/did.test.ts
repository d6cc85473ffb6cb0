import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { readDid, toDidJwk } from './did.ts'
import { type PublicJwk, readPublicJwk } from './jwk.ts'

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

  it('is read as in the example of the did:jwk specification', () => {
    const example =
      'did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5' +
      'IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9'
    expect(readDid(example)).toEqual({
      crv: 'P-256',
      kty: 'EC',
      x: 'acbIQiuMs3i8_uszEjJ2tpTtRM4EU3yz91PH6CdH2V0',
      y: '_KcyLj9vWMptnmKtm46GqDz8wf74I5LKgrl2GzH3nSE',
    })
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
  // The test vectors of the did:key method, section Test Vectors.
  it.each([
    ['did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp', { kty: 'OKP', crv: 'Ed25519' }],
    ['did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169', { kty: 'EC', crv: 'P-256' }],
  ])('carries the key of %s', (did, kind) => {
    expect(readDid(did)).toMatchObject(kind)
    expect(readDid(`${did}#${did.slice('did:key:'.length)}`)).toEqual(readDid(did))
    expect(() => readDid(`${did}#0`)).toThrow(MalformedError)
    expect(() => readDid(`${did}x`)).toThrow(MalformedError)
  })
})
