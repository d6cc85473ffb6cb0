import { createPublicKey, ECDH, generateKeyPair, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Cbor, type CborKey, type CborMap, decodeCbor, encodeCbor, makeTagged } from './cbor.ts'
import { readCoseKey, readSign1, signedBytes, writeCoseKey, writeSign1 } from './cose.ts'
import { MalformedError } from './malformed.ts'

const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'))
const map = (...members: readonly (readonly [CborKey, Cbor])[]) => new Map<CborKey, Cbor>(members)
const b64u = (text: string) => Buffer.from(text, 'hex').toString('base64url')

/** RFC 9052 appendix C.7.1 and cose-wg/Examples, sign1-tests/sign-pass-02: the key "11" and its signature. */
const KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: b64u('bac5b11cad8f99f9c72b05cf4b9e26d244dc189f745228255a219a86d6a09eff'),
  y: b64u('20138bf82dc1b6d562be0fa54ab7804a3a64b6d72ccfed6b6fb6ed28bbfc117e'),
} as const
const EXAMPLE =
  'd28443a10126a10442313154546869732069732074686520636f6e74656e742e58408eb33e4ca31d1c465ab05aac34cc6b23d58fef5c083106c4d25a91aef0b0117e2af9a291aa32e14ab834dc56ed2a223444547e01f11d3b0916e5a4c345cacb36'

describe('COSE_Sign1', () => {
  it('of the RFC is taken apart, and its signature is over the bytes we say', () => {
    const sign1 = readSign1(decodeCbor(hex(EXAMPLE)), 'it')
    expect(sign1).toMatchObject({ alg: -7, x5chain: [] })
    expect(Buffer.from(sign1.payload ?? []).toString()).toBe('This is the content.')
    const key = createPublicKey({ key: KEY, format: 'jwk' })
    const data = signedBytes(sign1.protectedBytes, sign1.payload ?? new Uint8Array(0))
    expect(verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, sign1.signature)).toBe(true)
  })

  it('reads as it was written, with certificates and a detached payload', async () => {
    const sign = () => Promise.resolve(hex('0102'))
    for (const x5chain of [[], [hex('aa')], [hex('aa'), hex('bb')]]) {
      const written = await writeSign1({ alg: -35, x5chain, payload: hex('00'), detached: true }, sign)
      expect(readSign1(decodeCbor(encodeCbor(written)), 'it')).toEqual({
        protectedBytes: hex('a1013822'),
        alg: -35,
        x5chain,
        payload: undefined,
        signature: hex('0102'),
      })
    }
  })

  const es256 = encodeCbor(map([1, -7]))
  it('may have a protected header of no bytes, or without an integer for its algorithm', () => {
    for (const header of [new Uint8Array(0), encodeCbor(map()), encodeCbor(map([1, 'ES256']))]) {
      expect(readSign1([header, map(), hex('00'), hex('00')], 'it').alg).toBe(undefined)
    }
  })

  it.each<[string, Cbor | undefined, string]>([
    ['nothing', undefined, 'it is not a CBOR array'],
    ['another tag', makeTagged(17, [es256, map(), null, hex('00')]), 'it is not a CBOR array'],
    ['three parts', [es256, map(), hex('00')], 'it is not a COSE_Sign1 of four parts'],
    ['five parts', [es256, map(), null, hex('00'), 1], 'it is not a COSE_Sign1 of four parts'],
    ['a header that is not bytes', [map(), map(), null, hex('00')], 'the protected header of it is not a byte string'],
    [
      'a header that is not a map',
      [hex('01'), map(), null, hex('00')],
      'the protected header of it: it is not a CBOR map',
    ],
    ['a header that is not CBOR', [hex('ff'), map(), null, hex('00')], 'the protected header of it: '],
    ['no second header', [es256, hex(''), null, hex('00')], 'the unprotected header of it is not a CBOR map'],
    ['a critical header', [encodeCbor(map([1, -7], [2, [99]])), map(), null, hex('00')], 'it names critical headers'],
    ['a critical header outside', [es256, map([2, [99]]), null, hex('00')], 'it names critical headers'],
    ['a payload that is text', [es256, map(), 'x', hex('00')], 'the payload of it is not a byte string'],
    ['a signature that is null', [es256, map(), null, null], 'the signature of it is not a byte string'],
    ['certificates that are text', [es256, map([33, 'x']), null, hex('00')], 'the x5chain of it is neither'],
    ['a certificate that is text', [es256, map([33, ['x']]), null, hex('00')], 'a certificate of it is not'],
  ])('is refused with %s', (_, value, why) => {
    expect(() => readSign1(value, 'it')).toThrow(MalformedError)
    expect(() => readSign1(value, 'it')).toThrow(why)
  })
})

describe('a COSE_Sign1 that is written', () => {
  const sign = () => Promise.resolve(hex('00'))
  const content = { alg: -7, payload: hex('01'), detached: false }

  it('has its certificates in one of the two headers, and is read with them', async () => {
    for (const isChainProtected of [false, true]) {
      const written = (await writeSign1(
        { ...content, x5chain: [hex('30')], isChainProtected },
        sign,
      )) as readonly Cbor[]
      const [header, other] = [decodeCbor(written[0] as Uint8Array), written[1]] as [CborMap, CborMap]
      expect([header.has(33), other.has(33)]).toEqual([isChainProtected, !isChainProtected])
      expect(readSign1(written, 'it').x5chain).toEqual([hex('30')])
    }
    const header = encodeCbor(map([1, -7], [33, hex('30')]))
    expect(() => readSign1([header, map([33, hex('30')]), null, hex('00')], 'it')).toThrow(
      'the x5chain of it is in both headers',
    )
  })

  it('says what it is in the protected header, and by which key in the other', async () => {
    const full = { ...content, typ: 'application/x', kid: 'k', x5chain: [hex('30')] }
    const [header, other] = (await writeSign1(full, sign)) as [Uint8Array, Cbor]
    expect(decodeCbor(header)).toEqual(
      new Map<CborKey, Cbor>([
        [1, -7],
        [16, 'application/x'],
      ]),
    )
    expect(decodeCbor(encodeCbor(other))).toEqual(
      new Map<CborKey, Cbor>([
        [4, hex('6b')],
        [33, hex('30')],
      ]),
    )
  })

  it('says nothing of what it is not given', async () => {
    const [header, other] = (await writeSign1(content, sign)) as [Uint8Array, Cbor]
    expect(decodeCbor(header)).toEqual(new Map([[1, -7]]))
    expect(other).toEqual(new Map())
  })
})

describe('COSE_Key', () => {
  it.each(['P-256', 'P-384', 'P-521', 'Ed25519'])('on %s is the JWK again', async (curve) => {
    const { publicKey } =
      curve === 'Ed25519'
        ? await promisify(generateKeyPair)('ed25519')
        : await promisify(generateKeyPair)('ec', { namedCurve: curve })
    const jwk = publicKey.export({ format: 'jwk' }) as Parameters<typeof writeCoseKey>[0]
    expect(readCoseKey(decodeCbor(encodeCbor(writeCoseKey(jwk))))).toEqual(jwk)
  })

  it('may have the sign of y only', () => {
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(KEY.x, 'base64url'), Buffer.from(KEY.y, 'base64url')])
    const compressed = ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'compressed') as Buffer
    const key = new Map<CborKey, Cbor>([
      [1, 2],
      [-1, 1],
      [-2, compressed.subarray(1)],
      [-3, compressed[0] === 3],
    ])
    expect(readCoseKey(key)).toEqual(KEY)
  })

  const good = () => writeCoseKey(KEY) as Map<CborKey, Cbor>
  it.each<[number, Cbor]>([
    [3, -7],
    [3, -9],
    [4, [2]],
    [4, [1, 2]],
    [4, [1]],
  ])('may say that it is for signatures: %d %j', (label, value) => {
    expect(readCoseKey(new Map([...good(), [label, value]]))).toEqual(KEY)
  })

  it.each<[string, Cbor | undefined, RegExp]>([
    ['nothing', undefined, /not a CBOR map/],
    ['a private key', new Map([...good(), [-4, hex('01')]]), /private/],
    ['a symmetric key', new Map([...good(), [1, 4]]), /unsupported key; use EC2/],
    ['another curve', new Map([...good(), [-1, 8]]), /unsupported key; use EC2/],
    ['another type of key', new Map([...good(), [1, 1]]), /unsupported key; use EC2/],
    ['no y', new Map([...good()].filter(([label]) => label !== -3)), /the y of the key is not a byte string/],
    ['for key agreement (alg)', new Map([...good(), [3, -25]]), /the key on P-256 is not for its alg/],
    ['for MACs (alg)', new Map([...good(), [3, 5]]), /not for its alg/],
    ['for signatures on another curve (alg)', new Map([...good(), [3, -35]]), /not for its alg/],
    ['for an algorithm in letters (alg)', new Map([...good(), [3, 'ES256']]), /not for its alg/],
    ['for deriving (key_ops)', new Map([...good(), [4, [7, 8]]]), /its key_ops name neither verify nor sign/],
    ['for nothing (key_ops)', new Map([...good(), [4, []]]), /its key_ops name neither/],
    ['for no list of operations (key_ops)', new Map([...good(), [4, 2]]), /its key_ops name neither/],
    ['a short x', new Map([...good(), [-2, hex('01')]]), /the x of the key is not 32 bytes/],
    [
      'an x that is on no curve',
      new Map<CborKey, Cbor>([...good(), [-2, new Uint8Array(32).fill(255)], [-3, true]]),
      /no point/,
    ],
  ])('is refused when it is %s', (_, value, why) => {
    expect(() => readCoseKey(value)).toThrow(MalformedError)
    expect(() => readCoseKey(value)).toThrow(why)
  })
})
