/** Untrusted texts, such as names and URLs in certificates and credentials, made safe to log. */

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

/** Cuts a text of more than `most` characters for display, without leaving a lone surrogate at its end. */
export function shortenText(text: string, most = MAX_TEXT): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text
}
