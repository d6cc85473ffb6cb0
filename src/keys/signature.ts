/**
 * Signatures over bytes, for JWS now and COSE later. Verified by `node:crypto`: an ES256 verification costs half of what
 * the JOSE library needs here (docs/decisions/0004), and the two agree in `signature.test.ts`. RFC 7518 section 3.4.
 */
import { type KeyObject, verify } from 'node:crypto'
import { own } from '../codec/json.ts'
import type { Jws } from '../codec/jws.ts'

/** Whether `signature` (r and s, 64 bytes) over `data` is by `key`. Never throws. */
export function verifyEs256(key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1' || signature.length !== 64) return false
  try {
    return verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false
  }
}

/** Whether the JWS says ES256 and its signature is by `key`. The caller chose the key; the header chooses nothing. */
export function signedBy(jws: Jws, key: KeyObject): boolean {
  return own(jws.header, 'alg') === 'ES256' && verifyEs256(key, jws.signed, jws.signature)
}
