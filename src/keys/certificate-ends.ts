/** The ends of the certificates of the service, for the operator who renews them. */
import type { Certificate } from './certificate.ts'
import { listKeys, type ServiceKeys } from './key-ring.ts'

export interface CertificateEnd {
  readonly subject: string
  /** Seconds since the epoch. */
  readonly not_after: number
}

/** Lists the certificates of the keys, each with the path of its setting. */
export function listCertificateEnds(keys: ServiceKeys): (CertificateEnd & { readonly key: string })[] {
  return listKeys(keys).map(([key, { chain }]) => ({ key, ...certificateEnd(chain[0]) }))
}

export function certificateEnd({ subjectText, notAfter }: Certificate): CertificateEnd {
  return { subject: subjectText, not_after: Math.floor(notAfter.getTime() / 1000) }
}
