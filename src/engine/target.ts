/** Reads the target of a request: its contract, and the part of the URL that the component sees. */
import { orUndefined } from '../codec/malformed.ts'
import { type Address, parseAddress } from '../offchain/address.ts'

export interface Target {
  /** The address of the contract; undefined when the target has something else in its place. */
  readonly contract: Address | undefined
  /** The part of the target after the address as it was sent: from its first slash, with the query, never decoded. */
  readonly uri: string
}

/**
 * Reads the target of a request: the path, or the whole URL, as clients of a proxy send it. Undefined unless the path
 * is below `/offchain/`, or `/executioncontainer/`, as older documents of that interface say. RFC 9112 section 3.2.
 */
export function readTarget(raw: string): Target | undefined {
  const path = raw.replace(/^https?:\/\/[^/?#]*/i, '')
  const match = /^\/(?:offchain|executioncontainer)(?:\/([^/?]*)(.*)|(?=\?|$).*)$/s.exec(path)
  if (match === null) return undefined
  const [, address = '', uri = ''] = match
  return {
    contract: orUndefined(() => parseAddress(address)),
    uri: uri.startsWith('/') ? uri : `/${uri}`,
  }
}

/** Returns the route for logs: the path alone, since a query may contain personal data. */
export function routeOf(uri: string): string {
  return uri.split('?', 1)[0] ?? ''
}
