/** Cursors: the start of the next page of a list, as opaque text. */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** The length of the digest in a cursor. */
const DIGEST_LENGTH = 12
const CURSOR_TEXT = /^[\w-]{12}\.([\w.-]*)$/

/**
 * Makes the cursor for a place in a list: the place, and a digest of it and of the list, by which a changed cursor or
 * one of another list is refused. The digest is not a secret, since whoever reads one page may read them all.
 */
export function writeCursor(list: string, place: string): string {
  return toBase64url(`${digestOf(JSON.stringify([list, place])).slice(0, DIGEST_LENGTH)}.${place}`)
}

/**
 * Returns the groups of `form` in the place of a cursor of this list. Refuses with `invalid_request` any other text.
 */
export function readCursor(list: string, cursor: string, form: RegExp): readonly string[] {
  const [, place = ''] = CURSOR_TEXT.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const [, ...groups] = form.exec(place) ?? []
  if (groups.length > 0 && writeCursor(list, place) === cursor) return groups
  return refuse('invalid_request', 'cursor: it is not from this list with this filter; leave it out to begin anew')
}
