import { describe, expect, it } from 'vitest'
import type { Certificate } from './certificate.ts'
import { identifierProblem, isCanonicalIdentifier } from './certificate-identifier.ts'

type Names = Partial<Pick<Certificate, 'uris' | 'dnsNames' | 'ipAddresses'>>

const certificate = (names: Names) =>
  ({ uris: [], dnsNames: [], ipAddresses: [], subjectText: 'CN=Example', ...names }) as unknown as Certificate

describe('an issuer identifier', () => {
  it.each<[string, Names, string]>([
    ['a URI of the certificate, letter by letter', { uris: ['https://a.example/x'] }, 'https://a.example/x'],
    ['one of several', { uris: ['https://b.example', 'https://a.example'] }, 'https://a.example'],
    ['a DID among the URIs', { uris: ['did:web:a.example'] }, 'did:web:a.example'],
    ['a host among the DNS names', { dnsNames: ['a.example'] }, 'https://a.example'],
    ['a host with port and path', { dnsNames: ['a.example'] }, 'https://a.example:8443/tenant/1'],
    ['a host among DNS names in capital letters', { dnsNames: ['A.Example'] }, 'https://a.example/'],
    ['an address among the IP addresses', { ipAddresses: ['192.0.2.1'] }, 'https://192.0.2.1:8443/a'],
    ['an address of version 6', { ipAddresses: ['[2001:db8::1]'] }, 'https://[2001:db8::1]/'],
    ['a host under a star', { dnsNames: ['*.example.org'] }, 'https://issuer.example.org'],
  ])('belongs to a certificate when it is %s', (_, names, identifier) => {
    expect(identifierProblem(certificate(names), identifier)).toBe(undefined)
  })

  it.each<[string, Names, string]>([
    ['the certificate has no names', {}, 'https://a.example'],
    ['it is longer than the URI', { uris: ['https://a.example'] }, 'https://a.example/x'],
    ['it is shorter than the URI', { uris: ['https://a.example/x'] }, 'https://a.example'],
    ['it differs by a slash', { uris: ['https://a.example'] }, 'https://a.example/'],
    ['it differs by the case of its path', { uris: ['https://a.example/X'] }, 'https://a.example/x'],
    ['its host is below a DNS name', { dnsNames: ['example.org'] }, 'https://a.example.org'],
    ['its host is above a DNS name', { dnsNames: ['a.example.org'] }, 'https://example.org'],
    ['its host begins with a DNS name', { dnsNames: ['a.example'] }, 'https://a.example.evil'],
    ['its host ends with a DNS name', { dnsNames: ['a.example'] }, 'https://evil-a.example'],
    ['the DNS name is its user', { dnsNames: ['a.example'] }, 'https://a.example@evil.example'],
    ['the DNS name is in its path', { dnsNames: ['a.example'] }, 'https://evil.example/a.example'],
    ['its host is the star itself', { dnsNames: ['*.example.org'] }, 'https://example.org'],
    ['its host is two below the star', { dnsNames: ['*.example.org'] }, 'https://a.b.example.org'],
    ['the star stands elsewhere', { dnsNames: ['a*.example.org', 'a.*.org'] }, 'https://ab.example.org'],
    ['it is a host and no URL', { dnsNames: ['a.example'] }, 'a.example'],
    ['it is empty', { dnsNames: ['a.example'], uris: ['https://a.example'] }, ''],
    ['it is not a URL', { dnsNames: ['a.example'] }, 'https://'],
    ['it is a DID of the host', { dnsNames: ['a.example'] }, 'did:web:a.example'],
    ['its host is in capital letters', { dnsNames: ['a.example'] }, 'https://a.EXAMPLE/'],
    ['its host is in full-width letters', { dnsNames: ['a.example'] }, 'https://\uff41.example'],
    ['it begins with a blank', { dnsNames: ['a.example'] }, ' https://a.example'],
    ['it has a tab within', { dnsNames: ['a.example'] }, 'https://a.exa\tmple'],
    ['it is a script', { dnsNames: ['a.example'] }, 'javascript://a.example/%0aalert(1)'],
    ['it is of another protocol', { dnsNames: ['a.example'] }, 'ftp://a.example/'],
    ['it has a fragment that is empty', { dnsNames: ['a.example'] }, 'https://a.example/#'],
    ['it names a user', { dnsNames: ['a.example'] }, 'https://government.example@a.example/'],
    ['it has a fragment', { dnsNames: ['a.example'] }, 'https://a.example/#b'],
    ['it has backslashes', { dnsNames: ['a.example'] }, 'https:\\\\a.example'],
    ['it has too many slashes', { dnsNames: ['a.example'] }, 'https:///a.example/'],
    ['it names the port that it would have anyhow', { dnsNames: ['a.example'] }, 'https://a.example:443/'],
    ['an address is a DNS name', { dnsNames: ['192.0.2.1'] }, 'https://192.0.2.1'],
    ['an address is below a star', { dnsNames: ['*.0.2.1'] }, 'https://192.0.2.1'],
    ['an address is written in another way', { ipAddresses: ['192.0.2.1'] }, 'https://0xc0000201/'],
    ['the star is for a whole top-level domain', { dnsNames: ['*.com'] }, 'https://government.com'],
    ['the star stands alone', { dnsNames: ['*.'] }, 'https://localhost'],
    ['its last label ends in a dot', { dnsNames: ['a.example'] }, 'https://a.example./'],
  ])('does not when %s', (_, names, identifier) => {
    expect(identifierProblem(certificate(names), identifier)).toMatch(
      /^the issuer is .*, and the certificate CN=Example is for /,
    )
  })

  it('is told with the names the certificate has', () => {
    const names = { uris: ['https://a.example'], dnsNames: ['b.example'] }
    expect(identifierProblem(certificate(names), 'https://c.example')).toBe(
      'the issuer is https://c.example, and the certificate CN=Example is for https://a.example, b.example',
    )
    expect(identifierProblem(certificate({}), 'x')).toMatch(/is for no URI and no host$/)
  })

  it('is told in one line and in short, whatever a stranger calls himself', () => {
    const problem = identifierProblem(
      certificate({ uris: [`urn:${'u'.repeat(500)}`] }),
      `a\n\u202e${'x'.repeat(100_000)}`,
    )
    expect(problem).toMatch(/^the issuer is a\\0a\\e2\\80\\aex+…, and the certificate CN=Example is for urn:u+…$/)
    expect(problem?.length).toBeLessThan(500)
  })
})

describe('an identifier that is shown', () => {
  it.each([
    'https://issuer.example',
    'https://issuer.example/',
    'https://issuer.example:8443/tenants/1?of=2',
    'https://xn--mnchen-3ya.example',
    'https://192.0.2.1/a',
    'did:web:issuer.example%3A8443:tenant',
    'did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH',
    'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    'urn:example:a/b',
  ])('is canonical: %s', (text) => {
    expect(isCanonicalIdentifier(text)).toBe(true)
  })

  it.each([
    ...['', 'x', 'issuer.example', 'https://', 'http://issuer.example', 'http://localhost:8079'],
    ...[
      'javascript://issuer.example/%0aalert(1)',
      'data:text/html,x',
      'HTTPS://issuer.example',
      'https://Issuer.example',
    ],
    ...['https://government.example@issuer.example', 'https://a:b@issuer.example', ' https://issuer.example'],
    ...[
      'https://issuer.example ',
      'https://issuer.example/a b',
      'https://\uff49ssuer.example',
      'https://m\u00fcnchen.example',
    ],
    ...[
      'https://issuer.example/../a',
      'https://issuer.example/#a',
      'https:issuer.example',
      'https://issuer.example\\a',
    ],
    ...['did:web:', 'did:WEB:issuer.example', 'did:web:issuer.example#key', 'did:web:issuer.example/a', 'did:web:a%zz'],
    ...[
      'urn:a',
      'urn:example',
      'urn:example:',
      'URN:example:a',
      'urn:example:a#b',
      'urn:example:a?+b',
      'urn:example:\u202ea',
    ],
    ...[
      `https://issuer.example/${'a'.repeat(2048)}`,
      `did:web:${'a'.repeat(2048)}`,
      `urn:example:${'a'.repeat(100_000)}`,
    ],
  ])('is none of these: %j', (text) => {
    expect(isCanonicalIdentifier(text)).toBe(false)
  })
})
