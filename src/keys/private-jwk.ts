/**
 * Keys that are made for one purpose and kept as data: the key of a credential, the key of an encrypted response.
 * From the randomness that is passed in, and without Node's synchronous generator, which can hang on Node 20.
 */
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { malformed } from '../codec/malformed.ts'

/** A private key on P-256. It goes into a store and nowhere else. */
export type PrivateJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly d: string
}

/** Random bytes are a private key unless they are beyond the order of the curve, which one try in 2^32 is. */
const TRIES = 8

/** A new key on P-256. */
export function makePrivateJwk(random: (bytes: number) => Uint8Array): PrivateJwk {
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
  return {
    kty: 'EC',
    crv: 'P-256',
    x: toBase64url(point.subarray(1, 33)),
    y: toBase64url(point.subarray(33)),
    d: toBase64url(d),
  }
}

/** The key of a private JWK. Throws a MalformedError. */
export function importPrivateKey(jwk: PrivateJwk | JsonObject): KeyObject {
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    return malformed('the key is no private key')
  }
}
