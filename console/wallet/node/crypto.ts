/**
 * Digests, public keys and their signatures for a browser: as much of `node:crypto` as the wallet uses, under Node's
 * names. Node's functions answer at once, and WebCrypto's do not, so these are of the libraries `@noble/curves` and
 * `@noble/hashes`. Private keys of credentials are none of this module's: WebCrypto has them (`../store.ts`).
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import {
  DER_TAG,
  readBitString,
  readDer,
  readOid,
  readSequence,
  takeMember,
  takeOptionalMember,
} from '../../../src/codec/der.ts'
import { Buffer } from './buffer.ts'

type Bytes = ReturnType<typeof Buffer.from>
type Digest = keyof typeof HASHES
type Jwk = Readonly<Record<string, string>>

const HASHES = { sha1, sha256, sha384, sha512 }
const CURVES = [
  { name: 'prime256v1', crv: 'P-256', oid: '1.2.840.10045.3.1.7', size: 32, curve: p256 },
  { name: 'secp384r1', crv: 'P-384', oid: '1.3.132.0.34', size: 48, curve: p384 },
  { name: 'secp521r1', crv: 'P-521', oid: '1.3.132.0.35', size: 66, curve: p521 },
] as const
const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
const ED25519 = '1.3.101.112'

type Curve = (typeof CURVES)[number]

/** A public key; one of a kind that verifies nothing here has no bytes. */
export class KeyObject {
  readonly type = 'public'
  readonly asymmetricKeyType: 'ec' | 'ed25519' | 'rsa'
  readonly asymmetricKeyDetails: { readonly namedCurve?: string }
  readonly curve: Curve | undefined
  /** The uncompressed point, or the bytes of an Ed25519 key. */
  readonly bytes: Uint8Array | undefined

  constructor(kind: KeyObject['asymmetricKeyType'], bytes?: Uint8Array, curve?: Curve) {
    this.asymmetricKeyType = kind
    this.asymmetricKeyDetails = curve === undefined ? {} : { namedCurve: curve.name }
    this.bytes = bytes
    this.curve = curve
  }

  /** The JOSE library knows the keys of Node by this name. */
  get [Symbol.toStringTag](): string {
    return 'KeyObject'
  }

  export(): Jwk {
    const { bytes, curve } = this
    if (bytes === undefined) throw new TypeError('a key of this kind has no JSON here')
    const text = (from: number, to?: number) => Buffer.from(bytes.subarray(from, to)).toString('base64url')
    if (curve === undefined) return { kty: 'OKP', crv: 'Ed25519', x: text(0) }
    return { kty: 'EC', crv: curve.crv, x: text(1, 1 + curve.size), y: text(1 + curve.size) }
  }
}

export function createPublicKey(
  source: { readonly key: Jwk; readonly format: 'jwk' } | { readonly key: Uint8Array; readonly format: 'der' },
): KeyObject {
  return source.format === 'jwk' ? publicKeyOfJwk(source.key) : publicKeyOfInfo(source.key)
}

function publicKeyOfJwk({ kty, crv, x = '', y = '' }: Jwk): KeyObject {
  const bytes = Buffer.from(x, 'base64url')
  if (kty === 'OKP' && crv === 'Ed25519') return new KeyObject('ed25519', bytes)
  const curve = CURVES.find((each) => each.crv === crv)
  if (kty !== 'EC' || curve === undefined) throw new TypeError('the key is on no curve that is known here')
  return pointKey(curve, Buffer.concat([Buffer.of(4), bytes, Buffer.from(y, 'base64url')]))
}

/** Reads a SubjectPublicKeyInfo. RFC 5480, RFC 8410. */
function publicKeyOfInfo(der: Uint8Array): KeyObject {
  const members = readSequence(readDer(der))
  const algorithm = readSequence(takeMember(members, DER_TAG.sequence))
  const { bytes } = readBitString(takeMember(members, DER_TAG.bitString))
  const kind = readOid(takeMember(algorithm, DER_TAG.oid))
  if (kind === ED25519) return new KeyObject('ed25519', bytes)
  if (kind !== EC_PUBLIC_KEY) return new KeyObject('rsa')
  const name = takeOptionalMember(algorithm, DER_TAG.oid)
  const curve = CURVES.find(({ oid }) => name !== undefined && oid === readOid(name))
  return curve === undefined ? new KeyObject('ec') : pointKey(curve, bytes)
}

/** Makes a key of an encoded point, and throws when no point of the curve is so encoded. */
function pointKey(curve: Curve, encoded: Uint8Array): KeyObject {
  return new KeyObject('ec', decompressPoint(curve, encoded), curve)
}

function decompressPoint({ curve }: Curve, encoded: Uint8Array): Uint8Array {
  return curve.Point.fromBytes(new Uint8Array(encoded)).toBytes(false)
}

/** Tests whether `signature` over `data` is by the key. Throws for keys of other kinds, as Node does. */
function verifyData(
  digest: Digest | undefined,
  data: Uint8Array,
  by: KeyObject | { readonly key: KeyObject },
  signature: Uint8Array,
): boolean {
  const { bytes, curve } = by instanceof KeyObject ? by : by.key
  if (bytes === undefined) throw new TypeError('keys of this kind verify nothing here')
  // The libraries want plain arrays, and take no class that is made from them.
  const [plainSignature, plainData, plainKey] = [signature, data, bytes].map((each) => new Uint8Array(each)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  if (curve === undefined) return ed25519.verify(plainSignature, plainData, plainKey, { zip215: false })
  if (digest === undefined) throw new TypeError('a signature on this curve has a digest')
  const hashed = HASHES[digest](plainData)
  return curve.curve.verify(plainSignature, hashed, plainKey, { prehash: false, lowS: false, format: 'der' })
}

export function hash(digest: Digest, data: Uint8Array | string, encoding: 'hex' | 'base64url' | 'buffer' = 'hex') {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data)
  const hashed = Buffer.from(HASHES[digest](bytes))
  return encoding === 'buffer' ? hashed : hashed.toString(encoding)
}

/** Makes a pair of keys for one encrypted response. */
export function createECDH(name: string) {
  const { curve } = curveNamed(name)
  let secret = Buffer.alloc(0)
  return {
    setPrivateKey(bytes: Uint8Array): void {
      if (!curve.utils.isValidSecretKey(new Uint8Array(bytes))) throw new RangeError('this is not a key on the curve')
      secret = Buffer.from(bytes)
    },
    getPrivateKey: (): Bytes => secret,
    getPublicKey: (): Bytes => Buffer.from(curve.getPublicKey(new Uint8Array(secret), false)),
  }
}

export const ECDH = {
  /** Uncompresses a point. */
  convertKey: (point: Uint8Array, name: string): Bytes => Buffer.from(decompressPoint(curveNamed(name), point)),
}

function curveNamed(name: string): Curve {
  const curve = CURVES.find((each) => each.name === name)
  if (curve === undefined) throw new TypeError(`the curve ${name} is not known here`)
  return curve
}

/** Stands for the functions with private keys, which issuers and verifiers call, and a page never does. */
function absent(): never {
  throw new TypeError('this function of node:crypto is not in the browser')
}

export const createPrivateKey = absent
export const createSecretKey = absent
export const hkdfSync = absent
export const sign = absent
export const timingSafeEqual = absent
export const constants = {}
export { verifyData as verify }
