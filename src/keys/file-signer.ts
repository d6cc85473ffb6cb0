/**
 * Private keys that are in this process, read from a file or made here: the signer of one, and all else that needs the
 * private key itself. Nothing outside this file exports a private key.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import { algorithmOf } from './algorithm.ts'
import { type Certificate, sentCertificates } from './certificate.ts'
import { publicJwkOf, thumbprint } from './jwk.ts'
import { secretFrom } from './secrets.ts'
import { signBytes } from './signature.ts'
import type { Signer } from './signer.ts'

/**
 * Reads the private key in a PEM text. Throws a MalformedError that names the reason where no key is there that signs
 * here.
 */
export function readPrivateKey(pem: string): KeyObject {
  const key = readAnyPrivateKey(pem)
  if (algorithmOf(key) === undefined) {
    malformed(`it holds a key of type ${kindOf(key)}, and only EC on P-256, P-384 or P-521 and Ed25519 are supported`)
  }
  return key
}

/** Reads a private key of any kind from a PEM text. Throws a MalformedError where the text holds none. */
export function readAnyPrivateKey(pem: string): KeyObject {
  if (pem.includes('ENCRYPTED')) malformed('it is encrypted with a passphrase, which is not supported')
  try {
    return createPrivateKey(pem)
  } catch (cause) {
    return malformed('it holds no private key in PEM', cause)
  }
}

/** Names the curve of a key, or its type, for messages. */
export function kindOf({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): string {
  return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? 'unknown'
}

/**
 * Makes a signer of a private key, by the algorithm of its curve. `chain` holds the key's certificates, its own first,
 * or none for a wallet. Throws a TypeError for a key of another kind.
 */
export function createSigner(key: KeyObject, chain: readonly Certificate[]): Signer {
  const alg = algorithmOf(key)
  if (alg === undefined) throw new TypeError('unsupported key type; use EC P-256, P-384, P-521 or Ed25519')
  const jwk = publicJwkOf(key)
  return {
    alg,
    jwk,
    kid: thumbprint(jwk),
    // RFC 7515 section 4.1.6: standard base64.
    x5c: sentCertificates(chain).map(({ der }) => der.toString('base64')),
    sign: (data) => Promise.resolve(signBytes(key, data)),
  }
}

/** Derives the secret of `purpose` from a private key. Whoever has the key derives the same. */
export function deriveSecret(key: KeyObject, purpose: string): KeyObject {
  return secretFrom(key.export({ type: 'pkcs8', format: 'der' }), purpose)
}

/** Writes a private key in PEM, for the file that keeps it. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Writes a private key as a JWK, for the holder that stores it. RFC 7517. */
export function privateJwkOf(key: KeyObject) {
  return key.export({ format: 'jwk' })
}

/** Gives the bytes of a private key on an elliptic curve, for libraries that take nothing else. */
export function privateScalar(key: KeyObject): Uint8Array {
  return Buffer.from(privateJwkOf(key).d ?? '', 'base64url')
}
