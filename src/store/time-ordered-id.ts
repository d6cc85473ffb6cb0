/**
 * Ids for rows that are inserted often. Rows that are made one after the other have neighbouring ids, so that a commit
 * writes the same few pages of an index however large the table is.
 */
import { toBase64url } from '../codec/base64url.ts'

/** The letters of base64url in the order of their bytes. */
const LETTERS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
/** Seven letters hold the milliseconds until the year 2109. */
const TIME_LETTERS = 7

/**
 * Makes an id from a time in milliseconds since the epoch and from random bytes: 16 or more where the id is a secret.
 * Ids are ordered by time, and an id reveals when it was made.
 */
export function makeTimeOrderedId(time: number, random: Uint8Array): string {
  let text = ''
  for (let remaining = time; text.length < TIME_LETTERS; remaining = Math.floor(remaining / LETTERS.length)) {
    text = LETTERS.charAt(remaining % LETTERS.length) + text
  }
  return text + toBase64url(random)
}
