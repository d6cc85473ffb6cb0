/**
 * Checks URLs against `outbound.allow`, the hosts to which components may send requests, and from which they are
 * fetched: `host`, or `host:port`.
 */
import { parseInternationalUrl } from '../codec/url.ts'

/** Returns the mistakes in the list, as sentences for the operator. */
export function hostMistakes(allowed: readonly string[]): string[] {
  return allowed.flatMap((each, index) => {
    const isHost = /^[^\s/\\@?#]+$/.test(each) && parseInternationalUrl(`https://${each}`) !== undefined
    return isHost ? [] : [`outbound.allow[${index}]: it must be a host such as api.example, or host:port`]
  })
}

/** Returns a host of the list as a URL writes it: in lower case, in Punycode, and with a port without leading zeros. */
export function normalizeHost(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  const { hostname } = new URL(`https://${host}`)
  return port === undefined ? hostname : `${hostname}:${Number(port)}`
}

/**
 * Tests whether the address is a URL of one of these hosts, which must be normalized. A host without a port allows only
 * the default port.
 */
export function isAllowed(address: string, allowed: readonly string[]): boolean {
  const url = parseInternationalUrl(address)
  if (url === undefined) return false
  const { protocol, host, hostname, port } = url
  const hostAndPort = port === '' ? `${hostname}:${protocol === 'https:' ? 443 : 80}` : host
  return allowed.includes(host) || allowed.includes(hostAndPort)
}
