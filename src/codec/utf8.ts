/** Texts in UTF-8, a mark of the byte order kept as the character that it is. Runs in the sandbox of components too. */
import { malformed } from './malformed.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Throws a MalformedError when the bytes are no UTF-8. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return malformed('a text is not UTF-8')
  }
}
