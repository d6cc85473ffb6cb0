/** The header `Host`, which names the server that a request is for. */
import type { IncomingMessage } from 'node:http'

/**
 * Tests whether a request has several `Host` headers, which a proxy and this service may read differently. RFC 9112
 * section 3.2 asks for a 400.
 */
export function hasSeveralHosts({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1
}
