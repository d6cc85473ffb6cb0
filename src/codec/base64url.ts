/**
 * Strict base64url without padding: each byte sequence has exactly one encoding. RFC 4648 sections 5 and 3.5; RFC 7515
 * section 2. Also decodes strict padded base64, for certificates.
 */
import { malformed } from './malformed.ts'

const ALPHABET = /^[A-Za-z0-9_-]*$/

/** Encodes bytes, or a text as UTF-8, in base64url. */
export function toBase64url(bytes: Uint8Array | string): string {
  return Buffer.from(bytes as Uint8Array).toString('base64url')
}

/** Decodes base64url. Throws a MalformedError for other characters, padding, or unused bits that are not zero. */
export function fromBase64url(text: string): Buffer {
  if (!ALPHABET.test(text) || text.length % 4 === 1) malformed('it is not base64url')
  const bytes = Buffer.from(text, 'base64url')
  if (text.length % 4 !== 0 && bytes.toString('base64url') !== text) malformed('it is not canonical base64url')
  return bytes
}

/** Decodes padded base64 in the standard alphabet. Throws a MalformedError on anything else. RFC 4648 section 4. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : malformed('it is not base64')
}
