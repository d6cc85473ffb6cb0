/**
 * Signatures over bytes, for JWS and COSE, by `node:crypto`: it verifies ES256 in half of the time of the JOSE library
 * (docs/decisions/0004), and `signature.test.ts` compares the two. RFC 7518 section 3.4, RFC 8037 section 3.1.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { type Sign1, signedBytes } from '../codec/cose.ts'
import { own } from '../codec/json.ts'
import type { Jws } from '../codec/jws.ts'
import { type AlgorithmDetails, algorithmOf, algorithms } from './algorithm.ts'

/**
 * Tests whether `key` made `signature` over `data`. For ECDSA, the signature is r and s with the length of a coordinate
 * each. Never throws.
 */
export function verifySignature(key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return false
  const { digest, size } = algorithms[algorithm]
  if (signature.length !== 2 * size) return false
  try {
    return verify(digest, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false
  }
}

/** Returns the raw signature over `data` with a private key of a supported algorithm. */
export function signBytes(key: KeyObject, data: Uint8Array): Uint8Array {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) throw new TypeError('unsupported key type; use EC P-256, P-384, P-521 or Ed25519')
  return sign(algorithms[algorithm].digest, data, { key, dsaEncoding: 'ieee-p1363' })
}

/**
 * Tests whether `key` signed the JWS with the algorithm of that key. The header does not select the key or the
 * algorithm.
 */
export function isJwsSignedBy(jws: Jws, key: KeyObject): boolean {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return false
  const { jose }: AlgorithmDetails = algorithms[algorithm]
  return jose.some((name) => name === own(jws.header, 'alg')) && verifySignature(key, jws.signingInput, jws.signature)
}

/** Tests whether `key` signed a COSE_Sign1 over `payload`, which may be detached. */
export function isSign1SignedBy(sign1: Sign1, payload: Uint8Array, key: KeyObject): boolean {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return false
  const { cose }: AlgorithmDetails = algorithms[algorithm]
  return (
    cose.some((number) => number === sign1.alg) &&
    verifySignature(key, signedBytes(sign1.protectedBytes, payload), sign1.signature)
  )
}

/**
 * Tests whether a signature has the length of the RSA modulus. OpenSSL accepts shorter ones. RFC 8017 sections 8.1.2
 * and 8.2.2.
 */
export function hasModulusLength({ asymmetricKeyDetails }: KeyObject, { length }: Uint8Array): boolean {
  return length === Math.ceil((asymmetricKeyDetails?.modulusLength ?? 0) / 8)
}
