/**
 * The context of the verification service: its configuration, keys, store and effects; the operator's policy, and the
 * session of a request.
 */
import { limitLoadsOfResponse, type StatusPolicy } from '../check/status/status-list-loader.ts'
import type { Effects } from '../http/effects.ts'
import type { Certificate } from '../keys/certificate.ts'
import type { Signer } from '../keys/signer.ts'
import type { ProgressRecorder } from '../progress/progress-recorder.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import type { Row } from '../store/store.ts'
import type { StoredDescriptions } from './check-descriptions.ts'
import type { OperatorPolicy } from './checks/context.ts'
import type { VerifierCollections, VerifierStore } from './collections.ts'
import type { VerifierConfig } from './config.ts'
import type { VerificationSession } from './session.ts'
import type { LoadTrustLists } from './trust-list/current.ts'

export interface VerifierContext extends Effects<VerifierCollections> {
  readonly config: VerifierConfig
  /** Returns the signer for a client identifier; undefined if this process never had it. */
  readonly findSigner: (clientId: string) => Signer | undefined
  /**
   * The client identifier: `x509_hash:` and the hash of the signing certificate. OpenID4VP 1.0, Client Identifier
   * Prefixes.
   */
  readonly clientId: string
  /** Loads a query as it was posted, from a cache; queries never change. */
  readonly loadQuery: (id: string) => Promise<DcqlQuery | undefined>
  readonly parseCertificate: (der: Uint8Array) => Certificate
  readonly loadTrustLists: LoadTrustLists
  readonly checkDescriptions: StoredDescriptions
  /** How the status of credentials is determined. */
  readonly status: StatusPolicy
  /** Records the progress of wallets for the session status. */
  readonly progress: ProgressRecorder
}

/** Returns the policy of the operator for one response, at the current time. */
export function createOperatorPolicy(context: VerifierContext): OperatorPolicy {
  const { config, now, parseCertificate, loadTrustLists, status } = context
  const { clockSkewSeconds, trustAnchors, issuerIdentifier, acceptTlsServerCertificates } = config
  return {
    now: now(),
    clockSkewSeconds,
    trustAnchors,
    loadTrustLists,
    issuerIdentifier,
    acceptTlsServerCertificates,
    parseCertificate,
    status: limitLoadsOfResponse(status, now),
  }
}

/** Returns the row of a session. Refuses with `not_found`. */
export async function requireVerificationSession(
  store: VerifierStore,
  sessionId: string,
): Promise<Row<VerificationSession>> {
  const row = await store.get('verification_session', sessionId)
  return row ?? refuse('not_found', 'there is no such session')
}
