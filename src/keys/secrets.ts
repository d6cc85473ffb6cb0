/**
 * Secrets of a service, each for one purpose and in one or more generations, so that a secret can be changed while what
 * was made by the one before is still in use.
 */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** The generations of one secret, the newest first: the first makes, each of them is accepted. */
export type Secrets = readonly [KeyObject, ...KeyObject[]]

/** The word that stands for the signing key as a source of secrets. */
export const SIGNING_KEY = 'signing-key'

/** The source of a generation in a configuration: 32 random bytes, or the signing key. */
export type SecretSource = Uint8Array | typeof SIGNING_KEY

/** Derives the secret of `purpose` from secret bytes: HKDF-SHA-256. RFC 5869. */
export function secretFrom(material: Uint8Array, purpose: string): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', material, '', `vouchsafe ${purpose}`, 32)))
}
