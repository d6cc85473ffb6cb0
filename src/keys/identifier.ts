/** Whether an issuer identifier and a certificate belong together. SD-JWT VC draft-19, X.509 Certificates. */
import { parseUrl } from '../codec/url.ts'
import type { Certificate } from './certificate.ts'
import { strangerText } from './certificate-name.ts'

/** Why `identifier` is none of the certificate's names, or undefined when it is one: its URI, or a host among its DNS names. */
export function identifierProblem(certificate: Certificate, identifier: string): string | undefined {
  const { uris, dnsNames, subjectText } = certificate
  if (uris.includes(identifier)) return undefined
  const host = parseUrl(identifier)?.hostname
  if (host !== undefined && dnsNames.some((name) => covers(name.toLowerCase(), host))) return undefined
  const names = strangerText([...uris, ...dnsNames].join(', '))
  return `the issuer is ${strangerText(identifier)}, and the certificate ${subjectText} is for ${names || 'names of other kinds'}`
}

/** A name covers itself, and one with a leading `*.` covers every name with one more label. RFC 6125 section 6.4.3. */
function covers(name: string, host: string): boolean {
  if (!name.startsWith('*.')) return name === host
  const [, ...rest] = host.split('.')
  return rest.join('.') === name.slice(2)
}
