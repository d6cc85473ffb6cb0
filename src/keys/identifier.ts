/** Tests whether a certificate names an issuer identifier, and which identifiers may be shown to people. */
import { isIPv4 } from 'node:net'
import { MAX_URL, parseUrl } from '../codec/url.ts'
import type { Certificate } from './certificate.ts'
import { strangerText } from './certificate-name.ts'

/**
 * The form of a DID without path, query and fragment, and of a URN in small letters up to its NSS. DID Core 1.0, DID
 * Syntax; RFC 8141 section 2.
 */
const DID = /^did:[a-z0-9]+(:([\w.-]|%[0-9A-F]{2})*)*:([\w.-]|%[0-9A-F]{2})+$/
const URN =
  /^urn:[a-z0-9][a-z0-9-]{0,30}[a-z0-9]:([\w.~!$&'()*+,;=:@-]|%[0-9A-F]{2})([\w.~!$&'()*+,;=:@/-]|%[0-9A-F]{2})*$/

/**
 * Says why `identifier` is none of the certificate's names, or undefined when it is one: its URI letter by letter, or a
 * canonical URL whose host is among its DNS names and IP addresses. RFC 9525 section 6.
 */
export function identifierProblem(certificate: Certificate, identifier: string): string | undefined {
  const { uris, dnsNames, ipAddresses, subjectText } = certificate
  if (uris.includes(identifier)) return undefined
  const host = canonicalUrl(identifier)?.hostname
  if (host !== undefined && isHostOf(certificate, host)) return undefined
  const names = strangerText([...uris, ...dnsNames, ...ipAddresses].join(', '))
  return `the issuer is ${strangerText(identifier)}, and the certificate ${subjectText} is for ${names || 'no URI and no host'}`
}

/**
 * Tests whether `text` is an identifier that means what it looks like: a canonical https URL, a DID or a URN, up to
 * 2,048 characters.
 */
export function isCanonicalIdentifier(text: string): boolean {
  if (text.length > MAX_URL) return false
  return canonicalUrl(text)?.protocol === 'https:' || DID.test(text) || URN.test(text)
}

/**
 * Returns the URL, where it is of the web, names no user and no fragment, and is written as a browser would write it.
 */
function canonicalUrl(text: string): URL | undefined {
  const url = parseUrl(text)
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined
  return url.href === text || url.href === `${text}/` ? url : undefined
}

/**
 * Tests whether the certificate names `host`. An IP address is compared with the IP addresses alone, never with DNS
 * names.
 */
function isHostOf({ dnsNames, ipAddresses }: Certificate, host: string): boolean {
  if (isIPv4(host) || host.startsWith('[')) return ipAddresses.includes(host)
  return dnsNames.some((name) => coversHost(name.toLowerCase(), host))
}

/**
 * Tests whether the DNS name `name` covers `host`. A leading `*.` covers exactly one label, and two labels or more must
 * follow it: a whole top-level domain, as in `*.com`, belongs to no one issuer. RFC 9525 sections 6.3 and 7.1.
 */
function coversHost(name: string, host: string): boolean {
  if (!name.startsWith('*.')) return name === host
  const [label, ...rest] = host.split('.')
  return label !== '' && rest.length > 1 && rest.join('.') === name.slice(2)
}
