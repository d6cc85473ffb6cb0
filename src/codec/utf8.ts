/** Strict UTF-8 decoding, which keeps a byte order mark. This file also runs in the sandbox of components. */
import { malformed } from './malformed.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8. Throws a MalformedError if the bytes are not valid UTF-8. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    return malformed('a text is not UTF-8', cause)
  }
}
