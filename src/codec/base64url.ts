/**
 * Base64url without padding, strictly: one text for one sequence of bytes.
 * RFC 4648 section 5 and 3.5; RFC 7515 section 2. And its elder, base64 with padding, as certificates are written.
 */
import { malformed } from './malformed.ts'

const ALPHABET = /^[A-Za-z0-9_-]*$/

export function toBase64url(bytes: Uint8Array | string): string {
  return Buffer.from(bytes as Uint8Array).toString('base64url')
}

/** The bytes of `text`. Throws a MalformedError on foreign characters, padding, or left-over bits that are not zero. */
export function fromBase64url(text: string): Buffer {
  if (!ALPHABET.test(text) || text.length % 4 === 1) malformed('it is not base64url')
  const bytes = Buffer.from(text, 'base64url')
  if (text.length % 4 !== 0 && bytes.toString('base64url') !== text) malformed('it is not canonical base64url')
  return bytes
}

/** The bytes of `text` in the standard alphabet, padded. Throws a MalformedError on anything else. RFC 4648 section 4. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : malformed('it is not base64')
}
