/** Checks URLs from other parties: https, or http to a private host. */
import { parseInternationalUrl } from '../codec/url.ts'
import { isSecureTransport } from '../protocol/private-host.ts'
import { refuseWith, type WalletErrorCode } from './error.ts'

/**
 * Returns `value` if it is an allowed URL. `what` names its member, such as `response_uri`. Refuses with `code` or
 * `insecure_address`.
 */
export function requireAddress(value: unknown, what: string, code: WalletErrorCode): string {
  const text = typeof value === 'string' ? value : ''
  const url = parseInternationalUrl(text)
  if (url === undefined) return refuseWith(code, `${what} is not an absolute URL`)
  const { username, password } = url
  if (username !== '' || password !== '') refuseWith(code, `${what} contains a user name or password`)
  if (isSecureTransport(url)) return text
  return refuseWith(
    'insecure_address',
    `${what} is ${text}, and only https is safe there; plain http is for addresses of this machine and its network`,
  )
}

/** Tests whether a browser may be sent to the URL: it is https, or http to a private host. */
export function isSafeAddress(url: string): boolean {
  const parsedUrl = parseInternationalUrl(url)
  return parsedUrl !== undefined && isSecureTransport(parsedUrl)
}

/**
 * Makes the URL of the metadata of a credential issuer. A slash at the end of its path stays. OpenID4VCI 1.0,
 * Credential Issuer Metadata Retrieval.
 */
export function makeIssuerMetadataUrl(identifier: string): string {
  const { pathname } = new URL(identifier)
  return makeWellKnownUrl(identifier, 'openid-credential-issuer', pathname === '/' ? '' : pathname)
}

/** Makes the URL of the metadata of an authorization server, without a slash at the end. RFC 8414 section 3.1. */
export function makeServerMetadataUrl(identifier: string): string {
  const { pathname } = new URL(identifier)
  return makeWellKnownUrl(identifier, 'oauth-authorization-server', pathname.replace(/\/$/, ''))
}

/** Makes the URL of a well-known document: the well-known path is between host and path. */
function makeWellKnownUrl(identifier: string, name: string, path: string): string {
  return `${new URL(identifier).origin}/.well-known/${name}${path}`
}
