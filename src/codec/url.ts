/** Parses URLs, and bounds those from outside: the parser takes half a minute for some hosts of 100,000 letters. */

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

/**
 * Parses an absolute URL of whoever configures or programs this service, which may name an international host; returns
 * undefined when `text` is not a URL. `URL.canParse` of Node 20, once it is compiled, takes no letters of Latin-1.
 */
export function parseInternationalUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
