/** Makes holder keys, and stores each as a private JWK with its credential. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import { readPart } from '../codec/malformed.ts'
import { createSigner, privateJwkOf } from '../keys/file-signer.ts'
import { importPrivateKey, makeEcPrivateJwk } from '../keys/private-jwk.ts'
import { type Algorithm, algorithms } from '../keys/signature.ts'
import type { HolderKeys } from './context.ts'

/** The PKCS #8 prefix of the 32 bytes of an Ed25519 key. RFC 8410 section 7. */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Creates {@link HolderKeys} with keys from the given randomness. */
export function createJwkHolderKeys(random: (bytes: number) => Uint8Array): HolderKeys {
  return {
    make: (algorithm) => {
      const key = makeHolderKey(random, algorithm)
      return Promise.resolve({ signer: createSigner(key, []), keyRecord: privateJwkOf(key) as JsonObject })
    },
    // An error thrown here rejects the promise.
    open: (keyRecord) => new Promise((resolve) => resolve(createSigner(readHolderKey(keyRecord), []))),
  }
}

/** Makes a private key for an algorithm. */
export function makeHolderKey(random: (bytes: number) => Uint8Array, algorithm: Algorithm = 'ES256'): KeyObject {
  if (algorithm !== 'EdDSA') return importPrivateKey(makeEcPrivateJwk(random, algorithms[algorithm]))
  const key = Buffer.concat([ED25519_PKCS8, random(algorithms.EdDSA.size)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

/** Imports a private JWK. Throws a MalformedError if it is invalid. */
export function readHolderKey(jwk: JsonObject): KeyObject {
  return readPart('the holder key', () => importPrivateKey(jwk))
}
