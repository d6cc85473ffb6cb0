/** The context of the checks of a presentation: the request, and the policy of the operator. */

import type { StatusPolicy } from '../../check/status/status-list-loader.ts'
import type { Binding, CredentialFormat, Evidence } from '../../credential/format.ts'
import type { Certificate } from '../../keys/certificate.ts'
import type { CredentialQuery } from '../../protocol/dcql.ts'
import type { RequestedTransaction } from '../../protocol/transaction-data.ts'
import type { FindIssuerPath, IssuerChain } from '../issuer-path.ts'
import type { CurrentTrustList, LoadTrustLists } from '../trust-list/current.ts'

/** The binding that a presentation must have. Members are undefined if another party made the request. */
export type ExpectedBinding = Omit<Binding, 'nonce' | 'audience'> & {
  readonly nonce: string | undefined
  readonly audience: string | undefined
}

/** The policy of the operator at one time. */
export interface OperatorPolicy {
  readonly now: Date
  readonly clockSkewSeconds: number
  /**
   * The trust anchors, in the context of a presentation also those of {@link PresentationCheckContext.trustLists};
   * undefined if there are neither anchors nor trust lists. The checks of trust are then `not_applicable`.
   */
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly loadTrustLists: LoadTrustLists
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /**
   * With `match`, an issuer identifier that is not a name in the certificate fails a check; otherwise it causes a
   * warning.
   */
  readonly issuerIdentifier: 'match' | undefined
  /** Whether TLS server certificates may sign credentials and status lists. */
  readonly acceptTlsServerCertificates: boolean
  readonly status: StatusPolicy
}

/** The credential query and the policy of the operator. Nothing here comes from the wallet. */
export interface PresentationCheckContext extends OperatorPolicy {
  readonly credentialQuery: CredentialQuery
  readonly format: CredentialFormat
  readonly binding: ExpectedBinding
  /** All transactions of the request. The binding has those that this presentation must approve. */
  readonly transactions: readonly RequestedTransaction[]
  /** When the session started; undefined if there was no session. */
  readonly sessionStart: Date | undefined
  /** The trust lists, of which some may not count now, or not for the type of the credential. */
  readonly trustLists: readonly CurrentTrustList[]
  readonly findIssuerPath: FindIssuerPath
}

/** A parsed presentation, with the parsed certificates of its issuer. */
export interface EvidenceWithChain extends Evidence {
  readonly issuerChain: IssuerChain
}

/** The checks that must hold before another check reads the content of a credential. */
export const CREDIBILITY_CHECKS: readonly string[] = ['issuer.signature', 'issuer.certificate']
