/** When the certificates of the service expire, for the operator. */
import { epochSeconds } from '../codec/time.ts'
import type { Certificate } from './certificate.ts'
import { listKeys, type ServiceKeys } from './key-ring.ts'

export interface CertificateEnd {
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
