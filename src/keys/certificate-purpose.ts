/**
 * Decides what a certificate may sign, by its extended key usage. RFC 5280 section 4.2.1.12; ISO/IEC 18013-5 annex B.
 * Without the extension, a certificate may sign anything. With it, one of its usages must be accepted for the purpose,
 * unknown (formats and countries define their own), or any usage. Certificates with only TLS usages do sign credentials
 * and requests in practice, so they are refused only if the extension is critical.
 */
import type { CertificateExtensions } from './certificate-extensions.ts'

/** The purpose of the signatures that a certificate is for. */
export type CertificatePurpose =
  | 'credential'
  | 'status'
  | 'metadata'
  | 'request'
  | 'attestation'
  | 'trustList'
  | 'audit'
  | 'tls'

export const EXTENDED_KEY_USAGE = {
  any: '2.5.29.37.0',
  tlsServer: '1.3.6.1.5.5.7.3.1',
  tlsClient: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  /**
   * The provisional number of `id-kp-oauthStatusSigning`, which has none before the specification is published; RFC
   * 8209 has this one for routers. Token Status List, Extended Key Usage Extension.
   */
  statusSigning: '1.3.6.1.5.5.7.3.30',
  mdlDocumentSigner: '1.0.18013.5.1.2',
  mdlReaderAuthentication: '1.0.18013.5.1.6',
} as const

const { tlsServer, tlsClient, statusSigning, mdlDocumentSigner, mdlReaderAuthentication } = EXTENDED_KEY_USAGE
const TLS: readonly string[] = [tlsServer, tlsClient]
const KNOWN_USAGES: readonly string[] = Object.values(EXTENDED_KEY_USAGE)
const ACCEPTED_USAGES: Readonly<Record<CertificatePurpose, readonly string[]>> = {
  credential: [mdlDocumentSigner],
  // An issuer may sign its own status lists.
  status: [mdlDocumentSigner, statusSigning],
  metadata: [mdlDocumentSigner],
  request: [mdlReaderAuthentication],
  attestation: [],
  trustList: [],
  audit: [],
  tls: [tlsServer],
}
const PURPOSE_TEXTS: Readonly<Record<CertificatePurpose, string>> = {
  credential: 'signing credentials',
  status: 'signing status lists',
  metadata: 'signing issuer metadata',
  request: 'signing presentation requests',
  attestation: 'signing attestations',
  trustList: 'signing trust lists',
  audit: 'signing an audit log',
  tls: 'a TLS server',
}

/**
 * Tests whether a path begins with a certificate for TLS only, which anybody with a host can get, below a trust anchor.
 * A certificate that is an anchor itself was chosen by the operator.
 */
export function beginsWithTlsServer(path: readonly Pick<CertificateExtensions, 'extendedKeyUsage'>[]): boolean {
  const usages = path[0]?.extendedKeyUsage
  return path.length > 1 && usages?.every((oid) => TLS.includes(oid)) === true
}

/** Returns why the certificate of a TLS server may not sign, as part of a sentence. */
export function tlsProblem({ subjectText }: { readonly subjectText: string }): string {
  return `the certificate '${subjectText}' is that of a TLS server, which anybody gets who has a host`
}

/** Returns why the extended key usage does not allow `purpose`, as part of a sentence; undefined if it does. */
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
