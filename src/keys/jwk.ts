/**
 * Public keys as JWK: which ones are supported, and their thumbprint. RFC 7517, RFC 7518 section 6.2, RFC 8037 section
 * 2, RFC 7638.
 */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { fromBase64url } from '../codec/base64url.ts'
import type { Curve } from '../codec/curve.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import {
  type Algorithm,
  algorithmOfCurve,
  algorithms,
  rememberAlgorithm,
  requireAlgorithm,
  SUPPORTED_KEYS,
} from './signature.ts'

/** A public key on a supported curve, without other members. */
export type PublicJwk = EcJwk | OkpJwk
interface EcJwk {
  readonly kty: 'EC'
  readonly crv: Exclude<Curve, OkpJwk['crv']>
  readonly x: string
  readonly y: string
}
interface OkpJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
}

/**
 * The encodings of the Ed25519 points of small order. `node:crypto` accepts these keys, for which anybody can make
 * signatures. RFC 7748 section 7.
 */
const SMALL_ORDER = [
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]
const PRIVATE_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/**
 * Returns the public key in `value`, without its other members. Throws a MalformedError if `value` has a private key
 * (OpenID4VCI 1.0, Verifying Proof) or the curve is not supported.
 */
export function readPublicJwk(value: unknown): PublicJwk {
  if (!isObject(value)) return malformed('the key is not a JSON object')
  const privateMember = PRIVATE_MEMBERS.find((member) => Object.hasOwn(value, member))
  if (privateMember !== undefined)
    malformed(`the key is a private one (it has the member ${privateMember}); send the public key only`)
  const { kty, crv } = value
  const details = detailsOfCurve(crv)
  if (kty === 'OKP' && details?.crv === 'Ed25519') return { kty, crv: details.crv, x: readEd25519Point(value) }
  if (kty === 'EC' && details?.namedCurve !== undefined) {
    const coordinate = (name: 'x' | 'y'): string => readCoordinateMember(value, name, details.size)
    return { kty, crv: details.crv, x: coordinate('x'), y: coordinate('y') }
  }
  return malformed(`unsupported key: use ${SUPPORTED_KEYS}`)
}

/**
 * Returns the public key in `value`. Throws like {@link readPublicJwk}, and if `use`, `key_ops` or `alg` do not allow
 * signatures. RFC 7517 sections 4.2 to 4.4.
 */
export function readSigningJwk(value: unknown): PublicJwk {
  const jwk = readPublicJwk(value)
  if (!isObject(value)) return jwk
  const [use, operations] = [memberOf(value, 'use'), memberOf(value, 'key_ops')]
  if (use !== undefined && use !== 'sig') malformed('the key is not for signatures (its use is not sig)')
  // A wallet may list the operation of its private key (`sign`).
  const signs = operations === undefined || stringsIn(operations).some((each) => each === 'verify' || each === 'sign')
  if (!signs) malformed('the key is not for signatures (its key_ops name neither verify nor sign)')
  const alg = memberOf(value, 'alg')
  const names: readonly unknown[] = detailsOfCurve(jwk.crv)?.jose ?? []
  if (alg !== undefined && !names.includes(alg)) malformed(`the key on ${jwk.crv} is not for its alg`)
  return jwk
}

function detailsOfCurve(crv: unknown): (typeof algorithms)[Algorithm] | undefined {
  const algorithm = algorithmOfCurve(crv)
  return algorithm && algorithms[algorithm]
}

/** Returns the public key of a private or public key. Throws a MalformedError if it is not supported. */
export function publicJwkOf(key: KeyObject): PublicJwk {
  // `node:crypto` cannot export all curves as JWK, so this is checked first.
  requireAlgorithm(key)
  return readPublicJwk((key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' }))
}

/** Imports a public key. Throws a MalformedError if the point is not on the curve. */
export function importPublicKey(jwk: PublicJwk): KeyObject {
  try {
    const key = createKeyWithoutTraces(jwk)
    rememberAlgorithm(key, algorithmOfCurve(jwk.crv))
    return key
  } catch (cause) {
    return malformed(`the key is not a point on the curve ${jwk.crv}`, cause)
  }
}

/**
 * Calls `createPublicKey`, which throws and catches four errors on Node 24. Their stack traces would take half of its
 * time.
 */
function createKeyWithoutTraces(jwk: PublicJwk): KeyObject {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * Tests whether 32 bytes in base64url are a point of Ed25519, which `node:crypto` does not check. RFC 8032 section
 * 5.1.3.
 */
export async function isEd25519Point(x: string): Promise<boolean> {
  // Loaded when needed, since loading is slow.
  const { ed25519 } = await import('./ed25519.ts')
  try {
    ed25519.Point.fromBytes(fromBase64url(x))
    return true
  } catch {
    return false
  }
}

/** Returns the base64url SHA-256 thumbprint of a JWK. RFC 7638. */
export function thumbprint(jwk: PublicJwk): string {
  const y = jwk.kty === 'EC' ? `,"y":"${jwk.y}"` : ''
  return hash('sha256', `{"crv":"${jwk.crv}","kty":"${jwk.kty}","x":"${jwk.x}"${y}}`, 'base64url')
}

function readEd25519Point(value: JsonObject): string {
  const x = readCoordinateMember(value, 'x', 32)
  const y = Buffer.from(x, 'base64url')
  // The highest bit is the sign of the x coordinate.
  y[31] = (y[31] ?? 0) & 0x7f
  if (SMALL_ORDER.includes(y.toString('hex'))) malformed('the key is one that anybody can sign for')
  return x
}

function readCoordinateMember(value: JsonObject, name: 'x' | 'y', size: number): string {
  const text = stringMemberOf(value, name) ?? malformed(`the key has no ${name}`)
  if (fromBase64url(text).length !== size) malformed(`the ${name} of the key is not ${size} bytes`)
  return text
}
