/**
 * The key a credential is bound to: a new one for each credential, so that nobody can tell by the key that two
 * credentials belong to one person. RFC 9901, Unlinkability. Made from the wallet's own source of randomness.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import { within } from '../codec/malformed.ts'
import { type Algorithm, algorithms } from '../keys/algorithm.ts'
import { importPrivateKey, makeEcPrivateJwk } from '../keys/private-jwk.ts'

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8. RFC 8410 section 7. */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export function makeHolderKey(random: (bytes: number) => Uint8Array, algorithm: Algorithm = 'ES256'): KeyObject {
  if (algorithm !== 'EdDSA') return importPrivateKey(makeEcPrivateJwk(random, algorithms[algorithm]))
  const key = Buffer.concat([ED25519_PKCS8, random(algorithms.EdDSA.size)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

/** The key of a private JWK. Throws a MalformedError. */
export function readHolderKey(jwk: JsonObject): KeyObject {
  return within('the holder key', () => importPrivateKey(jwk))
}
