/** Checks URLs from other parties: https, or http to a private host. */
import { isSecureTransport } from '../protocol/private-host.ts'
import { refuseWith, type WalletErrorCode } from './error.ts'

/**
 * Returns `value` if it is an allowed URL. `what` names its member, such as `response_uri`. Refuses with `code` or
 * `insecure_address`.
 */
export function requireAddress(value: unknown, what: string, code: WalletErrorCode): string {
  if (typeof value !== 'string' || !URL.canParse(value)) return refuseWith(code, `${what} is not an absolute URL`)
  const { username, password } = new URL(value)
  if (username !== '' || password !== '') refuseWith(code, `${what} contains a user name or password`)
  if (isSafeAddress(value)) return value
  return refuseWith(
    'insecure_address',
    `${what} is ${value}, and only https is safe there; plain http is for addresses of this machine and its network`,
  )
}

/** Tests whether a browser may be sent to the URL: it is https, or http to a private host. */
export function isSafeAddress(url: string): boolean {
  return URL.canParse(url) && isSecureTransport(new URL(url))
}

/**
 * Makes the URL of a well-known document of `identifier`: the well-known path is between host and path. RFC 8414
 * section 3.1.
 */
export function makeWellKnownUrl(identifier: string, name: string): string {
  const { origin, pathname } = new URL(identifier)
  return `${origin}/.well-known/${name}${pathname.replace(/\/$/, '')}`
}
