/** A signer whose key is in a file, and what else is derived from that key. */
import { createPrivateKey, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import { algorithmOf } from './algorithm.ts'
import { type Certificate, sentCertificates } from './certificate.ts'
import { publicJwkOf, thumbprint } from './jwk.ts'
import { signBytes } from './signature.ts'
import type { Signer } from './signer.ts'

/** The private key in a PEM text. Throws a MalformedError that says what it is instead of a key that signs here. */
export function readPrivateKey(pem: string): KeyObject {
  const key = readAnyPrivateKey(pem)
  if (algorithmOf(key) === undefined) {
    malformed(`it holds a key of type ${kindOf(key)}, and only EC on P-256, P-384 or P-521 and Ed25519 are supported`)
  }
  return key
}

/** The same of any kind. Throws a MalformedError where there is none. */
export function readAnyPrivateKey(pem: string): KeyObject {
  if (pem.includes('ENCRYPTED')) malformed('it is encrypted with a passphrase, which is not supported')
  try {
    return createPrivateKey(pem)
  } catch {
    return malformed('it holds no private key in PEM')
  }
}

/** Its curve, or what else it is, for messages. */
export function kindOf({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): string {
  return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? 'unknown'
}

/** Signs with `key`, by its algorithm; `chain` are its certificates, its own first, or none for a wallet. */
export function keySigner(key: KeyObject, chain: readonly Certificate[]): Signer {
  const alg = algorithmOf(key)
  if (alg === undefined) throw new TypeError('the key is of a kind that signs nothing here')
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

/** A secret that everybody with the key can derive again and nobody else: HKDF-SHA-256, named by its `purpose`. RFC 5869. */
export function deriveSecret(key: KeyObject, purpose: string): KeyObject {
  const material = key.export({ type: 'pkcs8', format: 'der' })
  return createSecretKey(new Uint8Array(hkdfSync('sha256', material, '', `vouchsafe ${purpose}`, 32)))
}
