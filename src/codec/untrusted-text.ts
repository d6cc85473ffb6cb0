/**
 * Untrusted texts, such as names and URLs in certificates and credentials, made safe to log (`untrustedText`), and to
 * show in a terminal or a page (`removeControlCharacters`).
 */

/** The maximum number of characters of such a text; a longer one is cut. */
const MAX_TEXT = 200

/** Returns untrusted text, shortened and safe to log. */
export function untrustedText(text: string): string {
  return shortenText(escapeControls(cutText(text)))
}

/** Escapes control and format characters, which could change how a line is displayed, as their bytes in hexadecimal. */
export function escapeControls(text: string): string {
  return text.replace(/\p{C}/gu, (character) => Buffer.from(character).toString('hex').replace(/../g, '\\$&'))
}

/** Cuts a text before it is escaped, to one character more than the final length. */
export function cutText(text: string): string {
  return text.slice(0, MAX_TEXT + 1)
}

/** Cuts a text for display, without leaving a lone surrogate at its end. */
export function shortenText(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/**
 * Replaces characters that move the cursor, change colours, or turn the writing direction of the words around a text,
 * and removes the marks of direction.
 */
export function removeControlCharacters(text: string): string {
  return removeDirectionMarks(text).replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u206f]/gu, '\ufffd')
}

/**
 * Removes the marks of direction, for which Hebrew and Arabic texts have a use; a mark turns only the punctuation
 * beside it. Unicode Bidirectional Algorithm, Implicit Directional Marks.
 */
export function removeDirectionMarks(text: string): string {
  return text.replace(/[\u061c\u200e\u200f]/g, '')
}

/** Tests whether the text has a character that {@link removeControlCharacters} replaces or removes. */
export function hasControlCharacters(text: string): boolean {
  return removeControlCharacters(text) !== text
}
