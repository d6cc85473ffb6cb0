/**
 * Private keys that are generated for one purpose and stored as JWK: for a credential, or for an encrypted response.
 * Uses the given randomness instead of Node's synchronous key generation, which can hang on Node 20.
 */
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'
import { type AlgorithmDetails, algorithms } from './signature.ts'

/** A private key as it is stored. */
export type PrivateJwk<Crv = 'P-256'> = {
  readonly kty: 'EC'
  readonly crv: Crv
  readonly x: string
  readonly y: string
  readonly d: string
}

/**
 * The number of attempts to generate a key. Random bytes are invalid if they exceed the order of the curve, at most
 * once in 2^32.
 */
const TRIES = 8

/** Generates a P-256 key. */
export function makePrivateJwk(random: (bytes: number) => Uint8Array): PrivateJwk {
  return makeEcPrivateJwk(random, algorithms.ES256)
}

/** Generates a key on the curve of an algorithm. */
export function makeEcPrivateJwk<Crv extends AlgorithmDetails['crv']>(
  random: (bytes: number) => Uint8Array,
  { crv, namedCurve, size }: { readonly crv: Crv; readonly namedCurve: string; readonly size: number },
): PrivateJwk<Crv> {
  const ecdh = createECDH(namedCurve)
  for (let tries = 1; ; tries += 1) {
    try {
      ecdh.setPrivateKey(toScalar(random(size)))
      break
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
  // An uncompressed point: 4, x, y.
  const point = ecdh.getPublicKey()
  const d = Buffer.concat([Buffer.alloc(size), ecdh.getPrivateKey()]).subarray(-size)
  return {
    kty: 'EC',
    crv,
    x: toBase64url(point.subarray(1, 1 + size)),
    y: toBase64url(point.subarray(1 + size)),
    d: toBase64url(d),
  }
}

/** Returns the public key of a private one. */
export function publicPartOf<Crv>({ kty, crv, x, y }: PrivateJwk<Crv>) {
  return { kty, crv, x, y }
}

/** Returns `bytes` as a private scalar; P-521 uses only one bit of the first byte. */
function toScalar(bytes: Uint8Array): Uint8Array {
  return bytes.length === algorithms.ES512.size ? bytes.map((byte, index) => (index === 0 ? byte & 1 : byte)) : bytes
}

/** Imports a private JWK. Throws a MalformedError if it is invalid. */
export function importPrivateKey(jwk: PrivateJwk | JsonObject): KeyObject {
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  } catch (cause) {
    return malformed('the key is not a private key', cause)
  }
}
