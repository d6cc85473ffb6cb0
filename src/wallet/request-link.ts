/** The link of a presentation request. OpenID4VP 1.0, Authorization Request; HAIP 1.0 for its scheme. */
import { X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import { requireAddress } from './address.ts'
import { refuseWith } from './error.ts'
import { readLink } from './link.ts'

export interface RequestLink {
  readonly clientId: string
  readonly requestUri: string
  /** The HTTP method to fetch the request object. */
  readonly method: 'get' | 'post'
}

const SCHEMES = ['haip-vp', 'openid4vp']

/**
 * Reads the link of a request. Refuses with `invalid_link`, `insecure_address`, or `unsupported` for a verifier that
 * this wallet could not authenticate.
 */
export function readRequestLink(link: string): RequestLink {
  const parameters = readLink(link, SCHEMES, 'presentation request')
  const clientId =
    parameters.get('client_id') ||
    refuseWith('invalid_link', 'the link has no client_id; was it pasted without quotes?')
  if (!clientId.startsWith(X509_HASH_PREFIX)) {
    refuseWith('unsupported', `the verifier identifies itself as ${clientId}, and this wallet knows x509_hash only`)
  }
  const requestUri = parameters.get('request_uri')
  if (requestUri === undefined) {
    refuseWith(
      'invalid_link',
      'the link has no request_uri, and this wallet takes signed requests only; was it pasted without quotes?',
    )
  }
  const method = parameters.get('request_uri_method') ?? 'get'
  if (method !== 'get' && method !== 'post') {
    refuseWith('invalid_link', 'request_uri_method of the link is neither get nor post')
  }
  return { clientId, requestUri: requireAddress(requestUri, 'request_uri', 'invalid_link'), method }
}
