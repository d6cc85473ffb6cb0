/** Control characters in texts of others, which could change what a terminal shows. */

/** Replaces characters that move the cursor, change colours, or change the writing direction. */
export function removeControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u206f]/gu, '\ufffd')
}

/**
 * Removes the marks of direction, for which Hebrew and Arabic texts have a use; a mark turns only the punctuation
 * beside it. Unicode Bidirectional Algorithm, Implicit Directional Marks.
 */
export function removeDirectionMarks(text: string): string {
  return text.replace(/[\u061c\u200e\u200f]/g, '')
}

/** Tests whether the text has a character that {@link removeControlCharacters} replaces. */
export function hasControlCharacters(text: string): boolean {
  return removeControlCharacters(text) !== text
}
