/** Checks the header fields that a request has once: Node takes the first of several, and a proxy perhaps another. */
import type { IncomingMessage } from 'node:http'

/**
 * Returns what is wrong with the headers of a request: a field that comes several times, which a proxy and this service
 * may interpret differently, or no `Host` in HTTP/1.1. RFC 9110 section 5.3; RFC 9112 section 3.2 requires a 400.
 */
export function findHeaderProblem({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): string | undefined {
  const hosts = countField(rawHeaders, 'host')
  if (hosts > 1) return describeRepetition('Host')
  if (countField(rawHeaders, 'authorization') > 1) return describeRepetition('Authorization')
  return hosts === 0 && httpVersion === '1.1' ? 'the request has no Host header; send one' : undefined
}

function describeRepetition(field: string): string {
  return `the request has several ${field} headers; send one`
}

/** Counts the fields of a name, which is in lower case. */
function countField(rawHeaders: readonly string[], field: string): number {
  const isField = (text: string, index: number): boolean =>
    index % 2 === 0 && text.length === field.length && text.toLowerCase() === field
  return rawHeaders.filter(isField).length
}
