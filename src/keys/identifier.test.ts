import { describe, expect, it } from 'vitest'
import type { Certificate } from './certificate.ts'
import { identifierProblem } from './identifier.ts'

type Names = Partial<Pick<Certificate, 'uris' | 'dnsNames'>>

const certificate = (names: Names) =>
  ({ uris: [], dnsNames: [], subjectText: 'CN=Example', ...names }) as unknown as Certificate

describe('an issuer identifier', () => {
  it.each<[string, Names, string]>([
    ['a URI of the certificate, letter by letter', { uris: ['https://a.example/x'] }, 'https://a.example/x'],
    ['one of several', { uris: ['https://b.example', 'https://a.example'] }, 'https://a.example'],
    ['a DID among the URIs', { uris: ['did:web:a.example'] }, 'did:web:a.example'],
    ['a host among the DNS names', { dnsNames: ['a.example'] }, 'https://a.example'],
    ['a host with port and path', { dnsNames: ['a.example'] }, 'https://a.example:8443/tenant/1'],
    ['a host in capital letters', { dnsNames: ['A.Example'] }, 'https://a.EXAMPLE/'],
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
    ['it is no URL', { dnsNames: ['a.example'] }, 'https://'],
    ['it is a DID of the host', { dnsNames: ['a.example'] }, 'did:web:a.example'],
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
    expect(identifierProblem(certificate({}), 'x')).toMatch(/is for names of other kinds$/)
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
