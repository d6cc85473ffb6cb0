import type { KeyObject } from 'node:crypto'

/**
 * Tests whether a signature has as many octets as the modulus of an RSA key; OpenSSL would add leading zeros by itself.
 * RFC 8017 sections 8.1.2 and 8.2.2.
 */
export function hasModulusLength({ asymmetricKeyDetails }: KeyObject, { length }: Uint8Array): boolean {
  return length === Math.ceil((asymmetricKeyDetails?.modulusLength ?? 0) / 8)
}
