/**
 * Decides what a certificate may sign, by its extended key usage. RFC 5280 section 4.2.1.12; ISO/IEC 18013-5 annex B.
 *
 * The rule: without the extension, for anything. With it, one of its purposes must be ours, or one we do not know
 * (formats and countries have their own), or any purpose. TLS is not ours, yet certificates of web servers do sign
 * credentials and requests in practice: a list of TLS alone is in the way only when it is critical.
 */
import type { CertificateExtensions } from './certificate-extensions.ts'

/** The use of a certificate. */
export type CertificatePurpose = 'credential' | 'status' | 'metadata' | 'request' | 'attestation' | 'audit' | 'tls'

export const EXTENDED_KEY_USAGE = {
  any: '2.5.29.37.0',
  tlsServer: '1.3.6.1.5.5.7.3.1',
  tlsClient: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  /** Token Status List, Extended Key Usage Extension. */
  statusSigning: '1.3.6.1.5.5.7.3.30',
  mdlDocumentSigner: '1.0.18013.5.1.2',
  mdlReaderAuthentication: '1.0.18013.5.1.6',
} as const

const { tlsServer, tlsClient, statusSigning, mdlDocumentSigner, mdlReaderAuthentication } = EXTENDED_KEY_USAGE
const TLS: readonly string[] = [tlsServer, tlsClient]
const KNOWN_USAGES: readonly string[] = Object.values(EXTENDED_KEY_USAGE)
const ACCEPTED_USAGES: Readonly<Record<CertificatePurpose, readonly string[]>> = {
  credential: [mdlDocumentSigner],
  // An issuer may sign its lists by itself.
  status: [mdlDocumentSigner, statusSigning],
  metadata: [mdlDocumentSigner],
  request: [mdlReaderAuthentication],
  attestation: [],
  audit: [],
  tls: [tlsServer],
}
const PURPOSE_TEXTS: Readonly<Record<CertificatePurpose, string>> = {
  credential: 'signing credentials',
  status: 'signing status lists',
  metadata: 'signing issuer metadata',
  request: 'signing presentation requests',
  attestation: 'signing attestations',
  audit: 'signing an audit log',
  tls: 'a TLS server',
}

/**
 * Tests whether a path to a trust anchor begins with a certificate for TLS and nothing else, which anybody gets who has
 * a host. An anchor itself was chosen by the operator.
 */
export function beginsWithTlsServer(path: readonly Pick<CertificateExtensions, 'extendedKeyUsage'>[]): boolean {
  const usages = path[0]?.extendedKeyUsage
  return path.length > 1 && usages?.every((oid) => TLS.includes(oid)) === true
}

/** Returns why the certificate of a TLS server below a trust anchor may not sign, as a sentence part. */
export function tlsProblem({ subjectText }: { readonly subjectText: string }): string {
  return `the certificate '${subjectText}' is that of a TLS server, which anybody gets who has a host (acceptTlsServerCertificates)`
}

/** Says why the extended key usage does not allow `purpose`, as a sentence part; undefined when it does. */
export function purposeProblem(
  certificate: CertificateExtensions & { readonly subjectText: string },
  purpose: CertificatePurpose,
): string | undefined {
  const { extendedKeyUsage: purposes, extendedKeyUsageIsCritical: isCritical, subjectText } = certificate
  if (purposes === undefined) return undefined
  const toleratedPurposes = isCritical ? [] : TLS
  const isAccepted = (oid: string): boolean =>
    oid === EXTENDED_KEY_USAGE.any ||
    ACCEPTED_USAGES[purpose].includes(oid) ||
    toleratedPurposes.includes(oid) ||
    !KNOWN_USAGES.includes(oid)
  if (purposes.some(isAccepted)) return undefined
  return `the extended key usage of the certificate '${subjectText}' (${purposes.join(', ')}) does not allow ${PURPOSE_TEXTS[purpose]}`
}
