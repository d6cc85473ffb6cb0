/**
 * The secrets of a service. Each is for one purpose and has one or more versions, so that it can be replaced while
 * older values remain valid.
 */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** The versions of a secret, the newest first. The first makes new values, and all are accepted. */
export type Secrets = readonly [KeyObject, ...KeyObject[]]

/** The word for the signing key as a source of secrets. */
export const SIGNING_KEY = 'signing-key'

/** The source of one version: 32 random bytes, or the signing key. */
export type SecretSource = Uint8Array | typeof SIGNING_KEY

/** Derives the secret for `purpose` with HKDF-SHA-256. RFC 5869. */
export function secretFrom(material: Uint8Array, purpose: string): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', material, '', `vouchsafe ${purpose}`, 32)))
}
