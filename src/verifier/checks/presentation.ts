/** The context of the checks of one presentation, and the check that comes before all others. */

import { type Check, fail, pass } from '../../check/check.ts'
import type { StatusPolicy } from '../../check/status/lists.ts'
import type { Problem } from '../../codec/malformed.ts'
import type { Binding, CredentialFormat, Evidence } from '../../credential/format.ts'
import type { Certificate } from '../../keys/certificate.ts'
import type { CredentialQuery } from '../../protocol/dcql.ts'
import type { FindIssuerPath } from '../issuer-path.ts'

/** The binding that a presentation must have. Members are undefined where another party made the request. */
export type ExpectedBinding = Omit<Binding, 'nonce' | 'audience'> & {
  readonly nonce: string | undefined
  readonly audience: string | undefined
}

/** The terms of the operator, which are the same for every verification at one time. */
export interface OperatorTerms {
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

/** The query and the terms of the operator. Nothing in the context comes from the wallet. */
export interface PresentationContext extends OperatorTerms {
  readonly query: CredentialQuery
  readonly format: CredentialFormat
  readonly binding: ExpectedBinding
  /** Undefined when there was no session. */
  readonly sessionStart: Date | undefined
  readonly findIssuerPath: FindIssuerPath
}

/** The ids of the checks that must hold before another check reads the content of a credential. */
export const CREDIBLE: readonly string[] = ['issuer.signature', 'issuer.certificate']

/** The evidence of a presentation, or the reason why it cannot be read, with the error of a library for the log. */
export type Reading = { readonly evidence: Evidence } | Problem

/** The check that is asked first of each presentation: whether it can be read. */
export const readingChecks: readonly Check<Reading, PresentationContext>[] = [
  {
    id: 'presentation.well_formed',
    asks: 'Can the presentation be read?',
    spec: 'RFC 9901, SD-JWT and SD-JWT+KB Data Formats; OpenID4VP 1.0, Credential Format Specific Parameters and Rules',
    level: 'MUST',
    run: (reading) => ('problem' in reading ? fail(reading.problem, reading.cause) : pass()),
  },
]
