/** Bounds the URLs that strangers send: the parser takes half a minute for some hosts of 100,000 letters. */

/** The most characters of a URL or an identifier that a stranger sends. */
export const MAX_URL = 2048

/** The absolute URL that `text` is; undefined when it is none, longer than 2,048 characters, or not ASCII (RFC 3986 section 2). */
export function parseUrl(text: string): URL | undefined {
  if (text.length > MAX_URL || !/^[!-~]+$/.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}
