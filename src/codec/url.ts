/**
 * Parses URLs with a limited length, because the URL parser takes half a minute for some hosts of 100,000 characters.
 * Also cuts URLs and request targets.
 */

/** The maximum length of a URL or identifier from outside. */
export const MAX_URL = 2048

/**
 * Parses an absolute URL. Returns undefined if `text` is not a URL, is longer than 2,048 characters, or is not ASCII
 * (RFC 3986 section 2).
 */
export function parseUrl(text: string): URL | undefined {
  if (text.length > MAX_URL || !/^[!-~]+$/.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

/** Returns the path of a request target: what comes before its query. */
export function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? ''
}

/** Returns the query of a request target; empty if there is none. */
export function queryOf(target: string): string {
  return target.slice(pathOf(target).length + 1)
}

/**
 * Returns a request target that is an absolute URL, as clients of a proxy send it, as a path with its query; any other
 * target as it is. RFC 9112 section 3.2.2.
 */
export function originFormOf(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

/** Removes all slashes at the end, in linear time: a regular expression takes the square for slashes in the middle. */
export function removeTrailingSlashes(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end -= 1
  return url.slice(0, end)
}

/**
 * Parses an absolute URL that may have an international host. Returns undefined if `text` is not a URL, or is longer
 * than 2,048 characters. Avoids `URL.canParse`, which on Node 20 wrongly refuses Latin-1 characters after optimization.
 */
export function parseInternationalUrl(text: string): URL | undefined {
  if (text.length > MAX_URL) return undefined
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
