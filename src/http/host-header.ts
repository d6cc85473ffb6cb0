/** The header `Host`, which says for whom a request is. */
import type { IncomingMessage } from 'node:http'

/** Whether a request has `Host` more than once, so that a proxy and this service may take it for two. RFC 9112 section 3.2: answered 400. */
export function hasSeveralHosts({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1
}
