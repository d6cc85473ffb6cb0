/** The end of certificates: refuses to sign after it, warns before it, and tells the operator when it is. */

import { epochSeconds } from '../codec/time.ts'
import { type Certificate, readPemCertificates, sentCertificates } from '../keys/certificate.ts'
import { listKeys, metadataKeyOf, type ServiceKeys, type SigningKey } from '../keys/key-ring.ts'
import { refuse } from '../protocol/error.ts'
import { describeValidity, endsSoon, findPreviousWarnings } from './certificate-warnings.ts'
import type { ServerTls } from './server-tls.ts'

/**
 * Returns why no session can be completed: the certificate of the current key for credentials and request objects, or
 * for status lists, has ended.
 */
export function endedCertificateProblem({ signing, statusLists }: ServiceKeys, now: Date): string | undefined {
  return endedText('signing', signing, now) ?? endedText('keys.statusLists', statusLists, now)
}

/** Returns why issuer metadata is not signed: the certificate that would be sent with the signature has ended. */
export function endedMetadataCertificateProblem(keys: ServiceKeys, now: Date): string | undefined {
  return endedText(...metadataKeyOf(keys), now)
}

function endedText(path: string, key: SigningKey | undefined, now: Date): string | undefined {
  const leaf = key?.chain[0]
  if (leaf === undefined || leaf.notAfter >= now) return undefined
  return `${path}: ${describeValidity(leaf, now)}, put the new one in its place, and send SIGHUP`
}

/** Refuses with `temporarily_unavailable` like {@link endedCertificateProblem}. The log has which certificate ended. */
export function refuseEndedCertificate(keys: ServiceKeys, now: Date): void {
  const problem = endedCertificateProblem(keys, now)
  if (problem === undefined) return
  const description = 'the certificate of this service has ended; try again when its operator has renewed it'
  refuse('temporarily_unavailable', description, { cause: new Error(problem) })
}

/** Returns a warning for each sent certificate that ends soon, also of earlier keys, except that of the audit key. */
export function findEndingWarnings(
  { keys, tls }: { readonly keys: ServiceKeys; readonly tls: ServerTls | undefined },
  now: Date,
): readonly string[] {
  const keyWarnings = listKeys({ ...keys, audit: undefined }).flatMap(([path, { chain }]) =>
    path.includes('.previous[') ? findPreviousWarnings(path, chain, now) : warningsOf(path, chain, now),
  )
  return [...keyWarnings, ...(tls === undefined ? [] : warningsOf('tls', readPemCertificates(tls.cert), now))]
}

function warningsOf(path: string, chain: readonly Certificate[], now: Date): readonly string[] {
  return sentCertificates(chain)
    .filter((certificate) => endsSoon(certificate, now))
    .map((certificate) => `${path}: ${describeValidity(certificate, now)}`)
}

interface CertificateEnd {
  readonly subject: string
  /** Seconds since the epoch. */
  readonly not_after: number
}

/** Returns the certificates of all keys, each with the path of its setting. */
export function listCertificateEnds(keys: ServiceKeys): (CertificateEnd & { readonly key: string })[] {
  return listKeys(keys).map(([key, { chain }]) => ({ key, ...certificateEnd(chain[0]) }))
}

/** Returns the subject and the expiry of a certificate. */
export function certificateEnd({ subjectText, notAfter }: Certificate): CertificateEnd {
  return { subject: subjectText, not_after: epochSeconds(notAfter) }
}
