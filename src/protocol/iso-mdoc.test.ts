import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { type Cbor, encodeCbor } from '../codec/cbor.ts'
import { readEncryptedResponse, readEncryptionInfo, writeEncryptedResponse, writeEncryptionInfo } from './iso-mdoc.ts'

/** The example of a request in the developer documentation of Apple. */
const APPLE_NONCE = Buffer.from('f96fe74e592b763ddd96613be5a2e07aaa1d61e2b26ade847b46b4dc777f13b1', 'hex')
const APPLE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'rlztqHsaR_OK3Npf8eTvG6AZWNxJsb69ZTFIPJcUR-0',
  y: 'm1kdxcjT8tsrCyqIk8rMSOy48b3EZ3zbAfiSwzZmXQ8',
} as const
const APPLE_INFO = [
  'gmVkY2FwaaJlbm9uY2VYIPlv505ZK3Y93ZZhO-Wi4HqqHWHismrehHtGtNx3fxOxcnJlY2lwaWVudFB1YmxpY0tleaQBAiABIVggrlztqHsaR_OK3Npf',
  '8eTvG6AZWNxJsb69ZTFIPJcUR-0iWCCbWR3FyNPy2ysLKoiTysxI7LjxvcRnfNsB-JLDNmZdDw',
].join('')

const written = (value: Cbor) => toBase64url(encodeCbor(value))
const bytes = Uint8Array.of(1, 2)
const members = new Map([
  ['enc', bytes],
  ['cipherText', bytes],
])

describe('the information on encryption', () => {
  it('is written and read as Apple has it', () => {
    expect(writeEncryptionInfo(APPLE_NONCE, APPLE_KEY)).toBe(APPLE_INFO)
    const { nonce, recipientPublicKey } = readEncryptionInfo(APPLE_INFO)
    expect(Buffer.from(nonce)).toEqual(APPLE_NONCE)
    expect(recipientPublicKey).toEqual(APPLE_KEY)
  })

  it('is refused without a nonce or a key', () => {
    expect(() => readEncryptionInfo(written(['dcapi', new Map()]))).toThrow('nonce is not a byte string')
    expect(() => readEncryptionInfo(written(['dcapi', new Map([['nonce', bytes]])]))).toThrow(
      'the key is not a CBOR map',
    )
  })
})

describe('an encrypted response', () => {
  it('is written and read', () => {
    const text = writeEncryptedResponse({ enc: bytes, cipherText: bytes })
    expect(text).toBe(written(['dcapi', members]))
    expect(readEncryptedResponse(text)).toEqual({ enc: bytes, cipherText: bytes })
  })

  it.each<[string, string, RegExp]>([
    ['base64', 'gmVk+', /not base64url/],
    ['padded', `${written(['dcapi', members])}=`, /not base64url/],
    ['no CBOR', toBase64url(Uint8Array.of(0xff)), /indefinite/],
    ['cut short', toBase64url(encodeCbor(['dcapi', members]).subarray(0, -1)), /./],
    ['followed by another value', toBase64url(Buffer.concat([encodeCbor(['dcapi', members]), bytes])), /bytes follow/],
    ['nested deeply', toBase64url(new Uint8Array(100_000).fill(0x81)), /nested deeper/],
    ['of a long array that is not there', toBase64url(Uint8Array.of(0x9a, 0xff, 0xff, 0xff, 0xff)), /cut short/],
    ['a map', written(members), /the EncryptedResponse is not a CBOR array/],
    ['of another name', written(['other', members]), /not one of "dcapi"/],
    ['of three elements', written(['dcapi', members, 1]), /not one of "dcapi"/],
    ['without a map', written(['dcapi', [bytes, bytes]]), /the content of the EncryptedResponse is not a CBOR map/],
    ['without enc', written(['dcapi', new Map([['cipherText', bytes]])]), /enc is not a byte string/],
    ['with a text', written(['dcapi', new Map<string, Cbor>([...members, ['cipherText', 'a']])]), /cipherText is not/],
  ])('that is %s is refused', (_, text, problem) => {
    expect(() => readEncryptedResponse(text)).toThrow(problem)
  })
})
