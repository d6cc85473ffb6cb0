/** The context of the verification service: its configuration, keys, store and effects, and the policy that follows. */

import type { StatusPolicy } from '../check/status/lists.ts'
import type { Effects } from '../http/effects.ts'
import type { Certificate } from '../keys/certificate.ts'
import type { Signer } from '../keys/signer.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import type { OperatorPolicy } from './checks/context.ts'
import type { VerifierCollections } from './collections.ts'
import type { VerifierConfig } from './config.ts'

export interface VerifierContext extends Effects<VerifierCollections> {
  readonly config: VerifierConfig
  /** Finds the signer for a client identifier; undefined for an identifier that this process never had. */
  readonly findSigner: (clientId: string) => Signer | undefined
  /** `x509_hash:` and the hash of the signing certificate. OpenID4VP 1.0, Client Identifier Prefixes. */
  readonly clientId: string
  /** Loads a query as it was posted. A query never changes, so the ones used last are kept in memory. */
  readonly loadQuery: (id: string) => Promise<DcqlQuery | undefined>
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /** The policy for the status of credentials. */
  readonly status: StatusPolicy
}

/** Returns the policy of the operator at this time, for a presentation in a session or without one. */
export function getOperatorPolicy({ config, now, parseCertificate, status }: VerifierContext): OperatorPolicy {
  const { clockSkewSeconds, trustAnchors, issuerIdentifier, acceptTlsServerCertificates } = config
  return {
    now: now(),
    clockSkewSeconds,
    trustAnchors,
    issuerIdentifier,
    acceptTlsServerCertificates,
    parseCertificate,
    status,
  }
}
