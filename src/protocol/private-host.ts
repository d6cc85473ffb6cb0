/** Hosts for which plain http is good enough: this machine, and the network it stands in. */
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
