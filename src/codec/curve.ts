/**
 * The curves of keys in JWK, COSE and DIDs, and their points. RFC 7518 section 6.2.1, RFC 8037 section 2; RFC 9053 and
 * RFC 9864 for the algorithms of COSE.
 */
import { ECDH } from 'node:crypto'
import { malformed } from './malformed.ts'

/**
 * The supported curves: their JOSE names, their names in `node:crypto` (undefined for Ed25519, which is a key type of
 * its own), the sizes of a coordinate, or of an Ed25519 public key, in bytes, and all COSE identifiers of the signature
 * algorithm of the curve, of which the first is used in new signatures.
 */
export const curves = {
  'P-256': { crv: 'P-256', namedCurve: 'prime256v1', size: 32, cose: [-7, -9] },
  'P-384': { crv: 'P-384', namedCurve: 'secp384r1', size: 48, cose: [-35, -51] },
  'P-521': { crv: 'P-521', namedCurve: 'secp521r1', size: 66, cose: [-36, -52] },
  Ed25519: { crv: 'Ed25519', namedCurve: undefined, size: 32, cose: [-8, -19] },
} as const

/** The JOSE name of a supported curve. */
export type Curve = keyof typeof curves

/**
 * Returns the coordinates of a compressed point: 2 or 3 by the sign of y, then x. Throws a MalformedError that begins
 * with `what` if there is no such point. SEC 1 section 2.3.4, RFC 9053 section 7.1.1.
 */
export function uncompressPoint(
  point: Uint8Array,
  namedCurve: string,
  what: string,
): { readonly x: Uint8Array; readonly y: Uint8Array } {
  try {
    const bytes = ECDH.convertKey(point, namedCurve, undefined, undefined, 'uncompressed') as Buffer
    return { x: bytes.subarray(1, point.length), y: bytes.subarray(point.length) }
  } catch (cause) {
    return malformed(`${what} belongs to no point on its curve`, cause)
  }
}
