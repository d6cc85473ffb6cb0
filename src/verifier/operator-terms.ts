/** The terms of the operator, from the configuration and the effects of the verifier. */
import type { OperatorTerms } from './checks/presentation.ts'
import type { VerifierContext } from './context.ts'

/** Returns the terms of the operator at this time, for a presentation in a session or without one. */
export function getOperatorTerms({ config, now, parseCertificate, status }: VerifierContext): OperatorTerms {
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
