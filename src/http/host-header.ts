/** Checks the `Host` header. */
import type { IncomingMessage } from 'node:http'

/**
 * Returns what is wrong with the `Host` headers of a request: several, which a proxy and this service may interpret
 * differently, or none in HTTP/1.1. RFC 9112 section 3.2 requires a 400.
 */
export function findHostProblem({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): string | undefined {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  if (count > 1) return 'the request has several Host headers; send one'
  return count === 0 && httpVersion === '1.1' ? 'the request has no Host header; send one' : undefined
}
