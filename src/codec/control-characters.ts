/** Control characters in texts of others, which could change what a terminal shows. */

/** Replaces characters that move the cursor, change colours, or change the writing direction. */
export function removeControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u206f]/gu, '\ufffd')
}

/** Tests whether the text has a character that {@link removeControlCharacters} replaces. */
export function hasControlCharacters(text: string): boolean {
  return removeControlCharacters(text) !== text
}
