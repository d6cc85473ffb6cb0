/** Cursors: the place in a list where its next page begins, as an opaque text. */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** The number of characters of the digest in a cursor. */
const DIGEST_LENGTH = 12
const CURSOR_TEXT = /^[\w-]{12}\.([\w.-]*)$/

/**
 * Writes a cursor for a place in a list: the place with a digest of it and of the list, so that a cursor that was
 * changed, cut off or brought to another list is refused. The digest keeps nothing secret: whoever may read a page may
 * read every other.
 */
export function writeCursor(list: string, place: string): string {
  return toBase64url(`${digestOf(JSON.stringify([list, place])).slice(0, DIGEST_LENGTH)}.${place}`)
}

/**
 * Reads the groups of `form` in the place of a cursor of this list. Refuses any other text, and any other place, with
 * `invalid_request`.
 */
export function readCursor(list: string, cursor: string, form: RegExp): readonly string[] {
  const [, place = ''] = CURSOR_TEXT.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const [, ...groups] = form.exec(place) ?? []
  if (groups.length > 0 && writeCursor(list, place) === cursor) return groups
  return refuse('invalid_request', 'cursor: it is not from this list with this filter; leave it out to begin anew')
}
