/** Checks the header fields that a request has once. */
import type { IncomingMessage } from 'node:http'

/** The fields of which Node takes the first, and a proxy perhaps another. */
const SINGLE_FIELDS = ['Host', 'Authorization'] as const

/**
 * Returns what is wrong with the headers of a request: a field that comes several times, which a proxy and this service
 * may interpret differently, or no `Host` in HTTP/1.1. RFC 9110 section 5.3; RFC 9112 section 3.2 requires a 400.
 */
export function findHeaderProblem({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): string | undefined {
  for (const field of SINGLE_FIELDS) {
    if (countField(rawHeaders, field) > 1) return `the request has several ${field} headers; send one`
  }
  const isWithoutHost = httpVersion === '1.1' && countField(rawHeaders, 'Host') === 0
  return isWithoutHost ? 'the request has no Host header; send one' : undefined
}

function countField(rawHeaders: readonly string[], field: string): number {
  const isField = (text: string, index: number): boolean =>
    index % 2 === 0 && text.length === field.length && text.toLowerCase() === field.toLowerCase()
  return rawHeaders.filter(isField).length
}
