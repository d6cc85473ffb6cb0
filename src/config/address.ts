/** `baseUrl`: what it may be, and when plain http deserves a warning. */
import { BlockList, isIP } from 'node:net'

export function addressMistakes(baseUrl: string): string[] {
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

export function addressWarnings(baseUrl: string): string[] {
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'https:' || isPrivateHost(hostname)) return []
  return ['baseUrl: http without TLS on a public host; wallets refuse it, and credentials can be read on the way']
}

/** Whether the name or address can only mean this machine or its own network. */
export function isPrivateHost(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname.endsWith('.local')) return true
  const address = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(address)
  return family !== 0 && privateAddresses().check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** Loopback, RFC 1918, RFC 4193 and link-local. */
function privateAddresses(): BlockList {
  const list = new BlockList()
  list.addSubnet('127.0.0.0', 8)
  list.addSubnet('10.0.0.0', 8)
  list.addSubnet('172.16.0.0', 12)
  list.addSubnet('192.168.0.0', 16)
  list.addSubnet('169.254.0.0', 16)
  list.addAddress('::1', 'ipv6')
  list.addSubnet('fc00::', 7, 'ipv6')
  list.addSubnet('fe80::', 10, 'ipv6')
  return list
}
