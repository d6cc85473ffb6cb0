/** Control characters in untrusted texts, which could change what a terminal or a page shows. */

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
