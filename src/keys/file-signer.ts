/**
 * Private keys in this process, from a file or generated: signers, and other operations that need the private key. Only
 * this file exports private keys.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import type { Certificate } from './certificate.ts'
import { secretFrom } from './secrets.ts'
import { algorithmOf, SUPPORTED_KEYS, signBytes } from './signature.ts'
import { publicMembersOf, type Signer } from './signer.ts'

/** Parses a private key in PEM. Throws a MalformedError if there is none, or its algorithm is not supported. */
export function readPrivateKey(pem: string): KeyObject {
  const key = readAnyPrivateKey(pem)
  if (algorithmOf(key) === undefined) {
    malformed(`it holds a key of type ${kindOf(key)}; use ${SUPPORTED_KEYS}`)
  }
  return key
}

/** Parses a private key of any kind in PEM. Throws a MalformedError if there is none. */
export function readAnyPrivateKey(pem: string): KeyObject {
  if (pem.includes('ENCRYPTED')) malformed('it is encrypted with a passphrase, which is not supported')
  try {
    return createPrivateKey(pem)
  } catch (cause) {
    return malformed('it holds no private key in PEM', cause)
  }
}

/** Returns the curve of a key, or its type, for messages. */
export function kindOf({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): string {
  return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? 'unknown'
}

/**
 * Creates a signer for a private key. `chain` has the certificates of the key, its own first; it is empty for a wallet.
 * Throws a MalformedError if the key type is not supported.
 */
export function createSigner(key: KeyObject, chain: readonly Certificate[]): Signer {
  return { ...publicMembersOf(key, chain), sign: (data) => Promise.resolve(signBytes(key, data)) }
}

/** Derives the secret for `purpose` from a private key. A key gives the same secret in each format of its file. */
export function deriveSecret(key: KeyObject, purpose: string): KeyObject {
  // PKCS #8 has the public key only where the file had it; a JWK always has it.
  const wholeKey = createPrivateKey({ key: privateJwkOf(key), format: 'jwk' })
  return secretFrom(wholeKey.export({ type: 'pkcs8', format: 'der' }), purpose)
}

/** Encodes a private key in PEM. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Encodes a private key as a JWK. RFC 7517. */
export function privateJwkOf(key: KeyObject) {
  return key.export({ format: 'jwk' })
}

/** Returns the bytes of an EC private key, for libraries that need them. */
export function privateScalar(key: KeyObject): Uint8Array {
  return Buffer.from(privateJwkOf(key).d ?? '', 'base64url')
}
