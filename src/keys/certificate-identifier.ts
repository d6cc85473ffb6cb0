/** Checks whether a certificate has an issuer identifier as a name, and which identifiers may be displayed. */
import { isIPv4 } from 'node:net'
import { untrustedText } from '../codec/untrusted-text.ts'
import { MAX_URL, parseUrl } from '../codec/url.ts'
import type { Certificate } from './certificate.ts'

/**
 * A DID without path, query and fragment, and a URN with lower-case scheme and NID. DID Core 1.0, DID Syntax; RFC 8141
 * section 2.
 */
const DID = /^did:[a-z0-9]+(:([\w.-]|%[0-9A-F]{2})*)*:([\w.-]|%[0-9A-F]{2})+$/
const URN =
  /^urn:[a-z0-9][a-z0-9-]{0,30}[a-z0-9]:([\w.~!$&'()*+,;=:@-]|%[0-9A-F]{2})([\w.~!$&'()*+,;=:@/-]|%[0-9A-F]{2})*$/

/**
 * Returns why `identifier` is not a name of the certificate; undefined if it is: equal to a URI, or a canonical URL
 * whose host matches a DNS name or IP address. RFC 9525 section 6.
 */
export function identifierProblem(certificate: Certificate, identifier: string): string | undefined {
  const { uris, dnsNames, ipAddresses, subjectText } = certificate
  if (uris.includes(identifier)) return undefined
  const host = canonicalUrl(identifier)?.hostname
  if (host !== undefined && isHostOf(certificate, host)) return undefined
  const names = untrustedText([...uris, ...dnsNames, ...ipAddresses].join(', '))
  return `the issuer is ${untrustedText(identifier)}, and the certificate ${subjectText} is for ${names || 'no URI and no host'}`
}

/**
 * Tests whether `text` is a canonical https URL, a DID or a URN of at most 2,048 characters, and so cannot be mistaken
 * for another one.
 */
export function isCanonicalIdentifier(text: string): boolean {
  if (text.length > MAX_URL) return false
  return canonicalUrl(text)?.protocol === 'https:' || DID.test(text) || URN.test(text)
}

/** Returns the URL if it is an http(s) URL without user and fragment in its normal form; otherwise undefined. */
function canonicalUrl(text: string): URL | undefined {
  const url = parseUrl(text)
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined
  return url.href === text || url.href === `${text}/` ? url : undefined
}

/** Tests whether `host` matches a name of the certificate. An IP address only matches IP addresses. */
function isHostOf({ dnsNames, ipAddresses }: Certificate, host: string): boolean {
  if (isIPv4(host) || host.startsWith('[')) return ipAddresses.includes(host)
  return dnsNames.some((name) => coversHost(name.toLowerCase(), host))
}

/**
 * Tests whether `host` matches the DNS name `name`. A leading `*.` matches exactly one label, and at least two labels
 * must follow. RFC 9525 sections 6.3 and 7.1.
 */
function coversHost(name: string, host: string): boolean {
  if (!name.startsWith('*.')) return name === host
  const [label, ...rest] = host.split('.')
  return label !== '' && rest.length > 1 && rest.join('.') === name.slice(2)
}
