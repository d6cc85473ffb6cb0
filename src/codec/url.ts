/** Bounds URLs from outside: the parser takes half a minute for some hosts of 100,000 letters. */

/** The most characters of a URL or identifier from outside. */
export const MAX_URL = 2048

/**
 * Parses an absolute URL; returns undefined when `text` is not a URL, longer than 2,048 characters, or not ASCII (RFC
 * 3986 section 2).
 */
export function parseUrl(text: string): URL | undefined {
  if (text.length > MAX_URL || !/^[!-~]+$/.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}
