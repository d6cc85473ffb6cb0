/** Addresses that others give us: https, or plain http within this machine and its own network. */
import { isSecure } from '../protocol/private-host.ts'
import { refuse, type WalletErrorCode } from './error.ts'

/** `value`, if it is an address we may go to; `what` names it: `response_uri`. Refuses with `code` or `insecure_address`. */
export function readAddress(value: unknown, what: string, code: WalletErrorCode): string {
  if (typeof value !== 'string' || !URL.canParse(value)) return refuse(code, `${what} is not an absolute URL`)
  const { username, password } = new URL(value)
  if (username !== '' || password !== '') refuse(code, `${what} contains a user name or password`)
  if (isSafeAddress(value)) return value
  return refuse(
    'insecure_address',
    `${what} is ${value}, and only https is safe there; plain http is for addresses of this machine and its network`,
  )
}

/** Whether a person can be sent there: no script, no file, nothing that others on the way can read. */
export function isSafeAddress(url: string): boolean {
  return URL.canParse(url) && isSecure(new URL(url))
}

/** The address of a document about `identifier`: the well-known path goes between host and path. RFC 8414 section 3.1. */
export function wellKnownAddress(identifier: string, name: string): string {
  const { origin, pathname } = new URL(identifier)
  return `${origin}/.well-known/${name}${pathname.replace(/\/$/, '')}`
}
