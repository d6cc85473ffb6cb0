/** The context of the checks of one presentation: what was asked for, and the policy of the operator. */

import type { StatusPolicy } from '../../check/status/lists.ts'
import type { Binding, CredentialFormat } from '../../credential/format.ts'
import type { Certificate } from '../../keys/certificate.ts'
import type { CredentialQuery } from '../../protocol/dcql.ts'
import type { FindIssuerPath } from '../issuer-path.ts'

/** The binding that a presentation must have. Members are undefined where another party made the request. */
export type ExpectedBinding = Omit<Binding, 'nonce' | 'audience'> & {
  readonly nonce: string | undefined
  readonly audience: string | undefined
}

/** The policy of the operator, which is the same for every verification at one time. */
export interface OperatorPolicy {
  readonly now: Date
  readonly clockSkewSeconds: number
  /** Undefined where none are configured: the checks of trust are then `not_applicable`. */
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /** With `match`, an issuer identifier that is not a name in the certificate is a failure, and otherwise a warning. */
  readonly issuerIdentifier: 'match' | undefined
  /** Whether certificates for TLS alone may sign credentials and status lists below an anchor. */
  readonly acceptTlsServerCertificates: boolean
  readonly status: StatusPolicy
}

/** The query and the policy of the operator. Nothing in the context comes from the wallet. */
export interface PresentationCheckContext extends OperatorPolicy {
  readonly query: CredentialQuery
  readonly format: CredentialFormat
  readonly binding: ExpectedBinding
  /** Undefined when there was no session. */
  readonly sessionStart: Date | undefined
  readonly findIssuerPath: FindIssuerPath
}

/** The ids of the checks that must hold before another check reads the content of a credential. */
export const CREDIBLE: readonly string[] = ['issuer.signature', 'issuer.certificate']
