/**
 * The key a credential is bound to: a new one for each credential, so that nobody can tell by the key that two
 * credentials belong to one person. RFC 9901, Unlinkability. Made from the wallet's own source of randomness.
 */
import type { KeyObject } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import { within } from '../codec/malformed.ts'
import { importPrivateKey, makePrivateJwk } from '../keys/private-jwk.ts'

export function makeHolderKey(random: (bytes: number) => Uint8Array): KeyObject {
  return importPrivateKey(makePrivateJwk(random))
}

/** The key of a private JWK. Throws a MalformedError. */
export function readHolderKey(jwk: JsonObject): KeyObject {
  return within('the holder key', () => importPrivateKey(jwk))
}
