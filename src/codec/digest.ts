/** Digests of texts and files, and comparison in constant time. */
import { hash, timingSafeEqual } from 'node:crypto'

/**
 * The supported hash algorithms, with their names in Node. The preferred one comes first. IANA, Named Information Hash
 * Algorithm Registry.
 */
const HASHES = { 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' } as const
export type HashName = keyof typeof HASHES
export const hashNames = Object.keys(HASHES) as readonly HashName[]

/** Tests whether a value is the name of a supported hash algorithm. */
export function isHashName(name: unknown): name is HashName {
  return typeof name === 'string' && Object.hasOwn(HASHES, name)
}

/** Returns the digest of a text in base64url. */
export function digestOf(text: string, hashName: HashName = 'sha-256'): string {
  return hash(HASHES[hashName], text, 'base64url')
}

/** Returns the SHA-256 of the bytes in hexadecimal. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}

/** Compares two texts in constant time, which depends only on their lengths. */
export function isSameSecret(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
