/** Reads the target of a request: its contract, and the part of the URL that the component sees. */
import { readOrUndefined } from '../codec/malformed.ts'
import { type Address, parseAddress } from '../offchain/address.ts'

export interface RequestTarget {
  /** The address of the contract; undefined when that part of the target is not an address. */
  readonly address: Address | undefined
  /** The rest of the target after the address: from its first slash, with the query, as it was sent (not decoded). */
  readonly uri: string
}

/**
 * Reads the target of a request: a path, or an absolute URL as clients of a proxy send it (RFC 9112 section 3.2).
 * Returns undefined unless the path is below `/offchain/`, or below `/executioncontainer/`, the name in older documents
 * of the interface.
 */
export function readTarget(raw: string): RequestTarget | undefined {
  const path = raw.replace(/^https?:\/\/[^/?#]*/i, '')
  const match = /^\/(?:offchain|executioncontainer)(?:\/([^/?]*)((?:[/?].*)?)|(?=\?|$).*)$/s.exec(path)
  if (match === null) return undefined
  const [, addressText = '', uri = ''] = match
  return {
    address: readOrUndefined(() => parseAddress(addressText)),
    uri: uri.startsWith('/') ? uri : `/${uri}`,
  }
}
