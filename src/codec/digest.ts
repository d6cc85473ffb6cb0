/** Digests of secrets, which are stored in place of the secrets, and of files; comparison in constant time. */
import { hash, timingSafeEqual } from 'node:crypto'

/**
 * The hash algorithms that a text of others may name, with their names in Node; the preferred one comes first. IANA,
 * Named Information Hash Algorithm Registry.
 */
const HASHES = { 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' } as const
export type HashName = keyof typeof HASHES
export const hashNames = Object.keys(HASHES) as readonly HashName[]

export function isHashName(name: unknown): name is HashName {
  return typeof name === 'string' && Object.hasOwn(HASHES, name)
}

/** Returns the digest of the text in base64url. */
export function digestOf(text: string, hashName: HashName = 'sha-256'): string {
  return hash(HASHES[hashName], text, 'base64url')
}

/** Returns the SHA-256 of the bytes in hexadecimal. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}

/** Compares two texts in a time that depends only on their lengths. */
export function isSameSecret(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
