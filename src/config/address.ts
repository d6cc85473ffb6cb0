/** Validates URLs in settings: `baseUrl`, and those of other servers. */
import { isSecureTransport } from '../protocol/private-host.ts'

/** Returns the mistakes in `baseUrl`. */
export function findAddressMistakes(baseUrl: string): string[] {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url === null) return ['baseUrl: it is not a URL; write it like https://issuer.example']
  const mistakes: string[] = []
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    mistakes.push('baseUrl: it must begin with https:// or http://')
  if (url.username !== '' || url.password !== '') mistakes.push('baseUrl: it must not contain a user or password')
  if (mistakes.length === 0 && baseUrl !== url.origin) {
    mistakes.push(`baseUrl: it must have no path, query or trailing slash, and no default port; write ${url.origin}`)
  }
  return mistakes
}

/** Returns a warning if `baseUrl` is http on a public host. */
export function findAddressWarnings(baseUrl: string): string[] {
  if (isSecureTransport(new URL(baseUrl))) return []
  return ['baseUrl: http without TLS on a public host; wallets refuse it, and credentials can be read on the way']
}

/** Returns a warning if a service with its own TLS has an http address, which would be sent to its callers. */
export function findSchemeWarnings(baseUrl: string | undefined, hasTls: boolean): string[] {
  if (!hasTls || baseUrl?.startsWith('http:') !== true) return []
  return ['tls: the service speaks https, and baseUrl says http; write the baseUrl that clients use']
}

/**
 * Returns what is wrong with a URL that must be https where others could read what is sent; undefined if nothing is.
 * `example` is a valid one for the message.
 */
export function secureAddressProblem(text: string, example: string): string | undefined {
  if (!URL.canParse(text)) return `it is not a URL; write it like ${example}`
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'it must not contain a user or password'
  if (isSecureTransport(url)) return undefined
  return 'it must begin with https://; plain http is for addresses of this machine and its network'
}

/**
 * Returns what is wrong with the issuer of an authorization server or an OpenID Connect provider; undefined if nothing
 * is. RFC 8414 section 2; OpenID Connect Discovery 1.0 section 4.
 */
export function issuerProblem(text: string, example: string): string | undefined {
  const problem = secureAddressProblem(text, example)
  return problem ?? (/[?#]/.test(text) ? 'it must have no query and no fragment' : undefined)
}

/**
 * Returns what is wrong with the URL of the operator's own server, such as a receiver of callbacks; undefined if
 * nothing is. `example` is a valid one, and `secretSetting` the setting for credentials, for the message.
 */
export function ownAddressProblem(text: string, example: string, secretSetting: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return `it is not a URL; write it like ${example}`
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return `it must not contain a user or password; use ${secretSetting}`
  if (url.hash !== '') return 'it must not have a fragment, which nobody would be sent'
  // A host name without a dot is in a local network, such as the name of a container.
  if (isSecureTransport(url) || !/[.:]/.test(url.hostname)) return undefined
  return 'http is for hosts of the own network only; use https'
}
