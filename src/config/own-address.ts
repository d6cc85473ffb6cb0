/** The addresses of servers that an operator names for their own use: a receiver of callbacks, a collector. */
import { isSecureTransport } from '../protocol/private-host.ts'

/** Returns what is wrong with such an address. `example` is a correct one; `secretSetting` is where secrets go. */
export function ownAddressProblem(text: string, example: string, secretSetting: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return `it is not a URL; write it like ${example}`
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return `it must not contain a user or password; use ${secretSetting}`
  if (url.hash !== '') return 'it must not have a fragment, which nobody would be sent'
  // A host name without a dot is one of the operator's own network, such as the name of a container.
  if (isSecureTransport(url) || !/[.:]/.test(url.hostname)) return undefined
  return 'http is for hosts of the own network only; use https'
}
