import { describe, expect, it } from 'vitest'
import { isLoopback, isPrivateHost, isPublicAddress, isSecureTransport, stripBrackets } from './private-host.ts'

const PUBLIC = ['1.1.1.1', '9.255.255.255', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.0', '192.0.1.0']
const SIX = ['2606:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888', '2001:200::1']
const NOT_PUBLIC = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1'],
  ...['198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:1.1.1.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1'],
  ...['64:ff9b:1::a00:1', '100::1', '2001::1', '2001:1ff::1', '2001:db8::1', '2002:7f00:1::', '2002:a00:1::1'],
  ...['3fff::1', '4000::1', '5f00::1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1'],
  ...['', 'localhost', 'example.com', '1.1.1', '[::1]', 'fe80::1%eth0'],
]

describe('Addresses of the internet', () => {
  it.each([...PUBLIC, ...SIX])('%s is one', (address) => {
    expect(isPublicAddress(address)).toBe(true)
    expect(isPrivateHost(address)).toBe(false)
  })

  it.each(NOT_PUBLIC)('%s is none', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('This machine', () => {
  it.each([
    ['localhost', true],
    ['issuer.localhost', true],
    ['127.0.0.9', true],
    ['[::1]', true],
    ['::1', true],
    ['127.0.0.1.example', false],
    ['notlocalhost', false],
    ['192.168.1.17', false],
  ])('is %s: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected)
  })
})

describe('This machine or its own network', () => {
  it.each([
    ['localhost', true],
    ['issuer.localhost', true],
    ['printer.local', true],
    ['127.0.0.9', true],
    ['10.255.0.1', true],
    ['172.16.0.1', true],
    ['192.168.1.17', true],
    ['169.254.169.254', true],
    ['[::1]', true],
    ['fe80::1', true],
    ['fd12::1', true],
    ['localhost.example', false],
    ['.localhost.example', false],
    ['.local.example', false],
    ['notlocalhost', false],
    ['', false],
  ])('is %s: %s', (host, expected) => {
    expect(isPrivateHost(host)).toBe(expected)
  })

  it('brackets are those of a whole address, and no others', () => {
    expect(['[::1]', '::1', 'a[b]c', ']a['].map(stripBrackets)).toEqual(['::1', '::1', 'a[b]c', ']a['])
  })
})

describe('What goes there cannot be read on the way', () => {
  it.each([
    ['https://issuer.example', true],
    ['http://localhost:8079', true],
    ['http://[fd12::1]', true],
    ['http://issuer.example', false],
    ['http://1.1.1.1', false],
    ['ftp://localhost', false],
    ['javascript:alert(1)', false],
  ])('%s: %s', (url, expected) => {
    expect(isSecureTransport(new URL(url))).toBe(expected)
  })
})
