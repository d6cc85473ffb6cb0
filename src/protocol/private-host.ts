/** Classifies hosts: loopback, private network, or public. Plain http is only accepted for the first two. */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Tests whether the URL has https, or http to a private host. */
export function isSecureTransport({ protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isPrivateHost(hostname))
}

/**
 * Tests whether the host is local: a loopback or private address, `localhost`, or a name that ends in `.localhost` or
 * `.local`.
 */
export function isPrivateHost(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname.endsWith('.local')) return true
  const address = stripBrackets(hostname)
  // Other host names are in no list.
  return privateNetworks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Tests whether the host means this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|::1)$/i.test(stripBrackets(hostname))
}

/** Removes the brackets of an IPv6 address in a URL; returns other hosts unchanged. */
export function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/**
 * Tests whether the IP address is globally routable. Excludes addresses that embed another one (IPv4-mapped, NAT64,
 * 6to4, Teredo), and multicast and reserved addresses. IANA IPv4 and IPv6 Special-Purpose Address Registries.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !specialNetworks.check(address)
  return allocatedNetworks.check(address, 'ipv6') && !specialNetworks.check(address, 'ipv6')
}

/** The private networks: loopback, RFC 1918, RFC 4193 and link-local. */
const privateNetworks = makeBlockList(
  'ipv4',
  ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  makeBlockList('ipv6', ['::1/128', 'fc00::/7', 'fe80::/10']),
)
/** The allocated IPv6 addresses. RFC 4291 section 2.4. */
const allocatedNetworks = makeBlockList('ipv6', ['2000::/3'])
const specialNetworks = makeBlockList(
  'ipv4',
  [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  makeBlockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']),
)

function makeBlockList(family: 'ipv4' | 'ipv6', subnets: readonly string[], list = new BlockList()): BlockList {
  for (const subnet of subnets) {
    const [net = '', length] = subnet.split('/')
    list.addSubnet(net, Number(length), family)
  }
  return list
}
