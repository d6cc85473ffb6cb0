/**
 * Strict decoding of UTF-8; a byte order mark is kept as a character. This file also runs in the sandbox of components.
 */
import { malformed } from './malformed.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8. Throws a MalformedError when the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    return malformed('a text is not UTF-8', cause)
  }
}
