/** Hosts for which plain http is good enough: this machine, and the network it stands in. And those of the internet. */
import { BlockList, isIP } from 'node:net'

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

/**
 * Whether the IP address is one of the internet: no machine of ours or of our network answers there. What only wraps
 * another address (IPv4-mapped, NAT64, 6to4, Teredo) is not; nor is multicast, nor what no host may have.
 * IANA IPv4 and IPv6 Special-Purpose Address Registries.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address)
  return family === 6 && global.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** What has been given out at all: RFC 4291 section 2.4. */
const global = listOf('ipv6', ['2000::/3'])
const special = listOf(
  'ipv4',
  [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
    ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ],
  listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']),
)

function listOf(family: 'ipv4' | 'ipv6', subnets: readonly string[], list = new BlockList()): BlockList {
  for (const subnet of subnets) {
    const [net = '', length] = subnet.split('/')
    list.addSubnet(net, Number(length), family)
  }
  return list
}
