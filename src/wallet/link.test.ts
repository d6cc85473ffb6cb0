import { describe, expect, it } from 'vitest'
import { makeIssuerMetadataUrl, makeServerMetadataUrl, requireAddress } from './address.ts'
import { WalletError } from './error.ts'
import { readLink } from './link.ts'

const read = (link: string) => readLink(link, ['haip-vci', 'openid-credential-offer'], 'credential offer')

describe('a link', () => {
  it('is read whatever stands between its scheme and its parameters', () => {
    for (const start of ['haip-vci://', 'HAIP-VCI:', 'openid-credential-offer://offer/', ' haip-vci://']) {
      expect(read(`${start}?a=b%20c\n`).get('a')).toBe('b c')
    }
  })

  it.each([
    ['', /not a link; a credential offer begins with haip-vci:\/\/ or openid-credential-offer:\/\//],
    ['hello', /not a link/],
    ['https://issuer.example/?a=b', /link of https:/],
    ['haip-vp://?a=b', /link of haip-vp:/],
    ['haip-vci://?a=b&a=c', /a twice/],
    [`haip-vci://?a=${'b'.repeat(70_000)}`, /cannot be read/],
    ['haip-vci://[?a=b', /cannot be read/],
  ])('is refused: %.40s', (link, message) => {
    expect(() => read(link)).toThrow(WalletError)
    expect(() => read(link)).toThrow(message)
  })
})

describe('an address', () => {
  it.each([
    'http://localhost:1',
    'http://a.localhost',
    'http://127.0.0.1',
    'http://192.168.1.2',
    'http://[::1]:8',
    'http://10.0.0.1',
    'http://172.16.0.1',
    'http://printer.local',
    'https://a.example',
  ])('is good: %s', (address) => expect(requireAddress(address, 'it', 'invalid_link')).toBe(address))

  it.each([
    'http://a.example',
    'http://8.8.8.8',
    'http://172.32.0.1',
    'http://localhost.example',
    'http://notlocalhost',
    'ftp://localhost',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://[2001:db8::1]',
  ])('is not safe: %s', (address) =>
    expect(() => requireAddress(address, 'it', 'invalid_link')).toThrow(/only https is safe/),
  )

  it.each([
    ['https://issuer.example', '', ''],
    ['https://issuer.example/', '', ''],
    ['https://issuer.example:8443/tenant/1', '/tenant/1', '/tenant/1'],
    ['https://issuer.example/tenant/', '/tenant/', '/tenant'],
  ])('of the metadata of %s', (identifier, issuerPath, serverPath) => {
    const { origin } = new URL(identifier)
    expect(makeIssuerMetadataUrl(identifier)).toBe(`${origin}/.well-known/openid-credential-issuer${issuerPath}`)
    expect(makeServerMetadataUrl(identifier)).toBe(`${origin}/.well-known/oauth-authorization-server${serverPath}`)
  })
})
