/**
 * The key a credential is bound to: a new one for each credential, so that nobody can tell by the key that two
 * credentials belong to one person. RFC 9901, Unlinkability. Made from the wallet's own source of randomness.
 */
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** Random bytes are a private key unless they are beyond the order of the curve, which one try in 2^32 is. */
const TRIES = 8

export function makeHolderKey(random: (bytes: number) => Uint8Array): KeyObject {
  const ecdh = createECDH('prime256v1')
  for (let tries = 1; ; tries += 1) {
    try {
      ecdh.setPrivateKey(random(32))
      break
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
  // An uncompressed point: 4, x, y.
  const point = ecdh.getPublicKey()
  const d = Buffer.concat([Buffer.alloc(32), ecdh.getPrivateKey()]).subarray(-32)
  return readHolderKey({
    kty: 'EC',
    crv: 'P-256',
    x: toBase64url(point.subarray(1, 33)),
    y: toBase64url(point.subarray(33)),
    d: toBase64url(d),
  })
}

/** The key of a private JWK. Throws a MalformedError. */
export function readHolderKey(jwk: JsonObject): KeyObject {
  try {
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    return malformed('the holder key is no private key')
  }
}
