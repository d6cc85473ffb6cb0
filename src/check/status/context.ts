/** The object of a status check, and the terms by which its lists are found and trusted. */
import type { Evidence } from '../../credential/format.ts'
import type { Certificate } from '../../keys/certificate.ts'
import type { TrustPath } from '../../keys/trust-anchors.ts'
import type { StatusPolicy } from './lists.ts'

/** A credential, or an attestation of a wallet, as far as its status is concerned. */
export type StatusEvidence = Pick<Evidence, 'formats' | 'issuer' | 'status' | 'credentialStatus'>

export interface StatusContext {
  readonly now: Date
  readonly clockSkewSeconds: number
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /** Whether certificates for TLS alone may sign status lists below an anchor. */
  readonly acceptTlsServerCertificates: boolean
  /** Finds the path of the signer of the evidence to an anchor. */
  readonly findIssuerPath: (issuer: Evidence['issuer']) => TrustPath
  readonly status: StatusPolicy
}
