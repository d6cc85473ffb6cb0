import { expect, it } from 'vitest'
import { findManagementMistakes } from './management.ts'

it.each([
  ['the same port at all interfaces', { port: 80 }, { port: 80, host: undefined }, 1],
  ['the same port at the same host', { port: 80 }, { port: 80, host: 'localhost' }, 1],
  ['the same port where metrics are at all interfaces', { port: 80, host: '::' }, { port: 80, host: '10.0.0.1' }, 1],
  ['the same port at another host', { port: 80 }, { port: 80, host: '10.0.0.1' }, 0],
  ['the same port, IPv6 loopback beside all of IPv4', { port: 80, host: '::1' }, { port: 80, host: '0.0.0.0' }, 0],
  ['the same port, a name beside all of IPv4', { port: 80, host: 'metrics' }, { port: 80, host: '0.0.0.0' }, 1],
  ['the same port, all of IPv6 beside all of IPv4', { port: 80, host: '0.0.0.0' }, { port: 80, host: '::' }, 1],
  ['another port', { port: 81 }, { port: 80, host: undefined }, 0],
  ['ports that the system picks', { port: 0 }, { port: 0, host: undefined }, 0],
] as const)('%s', (_, setting, service, count) => {
  expect(findManagementMistakes(setting, service)).toHaveLength(count)
})
