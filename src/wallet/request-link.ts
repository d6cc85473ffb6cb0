/** The link of a presentation request. OpenID4VP 1.0, Authorization Request; HAIP 1.0 for its scheme. */
import { X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import { readAddress } from './address.ts'
import { refuse } from './error.ts'
import { readLink } from './link.ts'

export interface RequestLink {
  readonly clientId: string
  readonly requestUri: string
  /** How the request object is fetched. */
  readonly method: 'get' | 'post'
}

const SCHEMES = ['haip-vp', 'openid4vp']

/** Refuses with `invalid_link`, `insecure_address`, or `unsupported` for a verifier that we could not recognize. */
export function readRequestLink(link: string): RequestLink {
  const parameters = readLink(link, SCHEMES, 'presentation request')
  const clientId =
    parameters.get('client_id') || refuse('invalid_link', 'the link has no client_id; was it pasted without quotes?')
  if (!clientId.startsWith(X509_HASH_PREFIX)) {
    refuse('unsupported', `the verifier identifies itself as ${clientId}, and this wallet knows x509_hash only`)
  }
  const requestUri = parameters.get('request_uri')
  if (requestUri === undefined) {
    refuse(
      'invalid_link',
      'the link has no request_uri, and this wallet takes signed requests only; was it pasted without quotes?',
    )
  }
  const method = parameters.get('request_uri_method') ?? 'get'
  if (method !== 'get' && method !== 'post') {
    refuse('invalid_link', 'request_uri_method of the link is neither get nor post')
  }
  return { clientId, requestUri: readAddress(requestUri, 'request_uri', 'invalid_link'), method }
}
