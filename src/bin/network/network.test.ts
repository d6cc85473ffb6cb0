import { lookup } from 'node:dns/promises'
import { createServer } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import {
  chooseDefaultHost,
  describeHostProblem,
  findFreePort,
  findLanAddress,
  findListenAddress,
  isInContainer,
} from './network.ts'

const at = (address: string, internal = false): NetworkInterfaceInfo[] => [
  { address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' } as NetworkInterfaceInfo,
]

describe('the address on the local network', () => {
  it('is the first private IPv4 address that is not this machine alone', () => {
    expect(findLanAddress({ lo: at('127.0.0.1', true), eth0: [...at('fd00::2'), ...at('192.168.1.17')] })).toBe(
      '192.168.1.17',
    )
    expect(findLanAddress({ wlan0: at('10.0.0.5'), eth0: at('192.168.1.17') })).toBe('10.0.0.5')
  })

  it('is none of a container network or a tunnel, and no public or self-assigned address', () => {
    expect(findLanAddress({ docker0: at('172.17.0.1'), 'br-1': at('172.18.0.1'), tun0: at('10.8.0.2') })).toBe(
      undefined,
    )
    expect(findLanAddress({ eth0: at('203.0.113.5') })).toBe(undefined)
    expect(findLanAddress({ eth0: at('169.254.10.10') })).toBe(undefined)
    expect(findLanAddress({})).toBe(undefined)
  })
})

describe('a container', () => {
  it.each([
    ['Docker', {}, '/.dockerenv'],
    ['Podman', {}, '/run/.containerenv'],
    ['Kubernetes', { KUBERNETES_SERVICE_HOST: '10.96.0.1' }, undefined],
  ])('of %s is recognized', (_, environment, file) => {
    expect(isInContainer(environment, (path) => path === file)).toBe(true)
    expect(isInContainer({}, () => false)).toBe(false)
  })
})

describe('the host when none is named', () => {
  it.each([
    [undefined, '::'],
    ['EACCES', '::'],
    ['EAFNOSUPPORT', '0.0.0.0'],
    ['EADDRNOTAVAIL', '0.0.0.0'],
  ])('is, when listening on :: ends with %s, %s', async (problem, host) => {
    expect(await chooseDefaultHost(() => Promise.resolve(problem))).toBe(host)
  })
})

describe('the address to listen at', () => {
  it('is the first of localhost, and any other host as it is', async () => {
    expect(await findListenAddress('localhost')).toBe((await lookup('localhost', { order: 'ipv4first' })).address)
    for (const host of ['::', '127.0.0.1', 'issuer.example']) expect(await findListenAddress(host)).toBe(host)
  })
})

describe('a free port', () => {
  it.each(['::', '127.0.0.1'])('is another one when somebody listens on %s', async (host) => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve))
    const taken = (server.address() as { port: number }).port
    const found = await findFreePort(taken)
    expect(found).not.toBe(taken)
    expect(found).toBeGreaterThan(0)
    await new Promise((resolve) => server.close(resolve))
    expect(await findFreePort(taken)).toBe(taken)
  })
})

it.each([
  ['ENOTFOUND', /^here is not an address of this machine; name one of its own/],
  ['EAI_AGAIN', /^here could not be looked up; see whether the DNS of this machine answers/],
])('a host that cannot be listened at (%s) is told with what to do', (code, text) => {
  expect(describeHostProblem(code, 'here')).toMatch(text)
  expect(describeHostProblem(code, '10.0.0.1:80')).toMatch(/; say 10\.0\.0\.1 alone: 80 is for port$/)
})
