/** Digests of secrets, which are stored in place of the secrets, and of files; comparison in constant time. */
import { hash, timingSafeEqual } from 'node:crypto'

/** Returns the SHA-256 of the text in base64url. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
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
