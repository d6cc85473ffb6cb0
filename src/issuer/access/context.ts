/**
 * The part of the service's context that the authorization, token and credential endpoints share: the secrets for codes
 * and nonces, DPoP, wallet attestations, and the external authorization server.
 */
import type { StatusPolicy } from '../../check/status/status-list-loader.ts'
import type { Effects } from '../../http/effects.ts'
import type { Secrets } from '../../keys/secrets.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerConfig } from '../config.ts'
import type { AuthorizationServerClient } from './authorization-server-client.ts'
import type { ReusableNonces } from './reusable-nonce.ts'

/** The secrets, each with the purpose for which it is derived: two secrets for the same purpose would be equal. */
export const secretPurposes = {
  preAuthorizedCode: 'pre-authorized code',
  suppliedCode: 'supplied pre-authorized code',
  issuerState: 'issuer_state',
  pushedRequest: 'pushed authorization request',
  signInState: 'state of a sign-in',
  authorizationCode: 'authorization code',
  txCode: 'tx_code',
  rememberedTxCode: 'remembered tx_code',
  refresh: 'refresh token',
  nonce: 'c_nonce',
  dpopNonce: 'dpop nonce',
  attestationChallenge: 'attestation challenge',
  notification: 'notification_id',
} as const

export interface AccessContext extends Effects<IssuerCollections> {
  readonly config: IssuerConfig
  /**
   * The secrets for MACs and encrypted values. All processes of the service have the same ones, also after a restart.
   */
  readonly secrets: Readonly<Record<keyof typeof secretPurposes, Secrets>>
  /** The external authorization server; undefined when this service issues the access tokens. */
  readonly externalAuthorizationServer: AuthorizationServerClient | undefined
  readonly dpopNonces: ReusableNonces
  /** Runs a task when no other one of the session runs in this process, and tells it whether it had to wait. */
  readonly queueForSession: <T>(sessionId: string, task: (hasWaited: boolean) => Promise<T>) => Promise<T>
  /** The challenges for proofs of possession of wallet attestations. */
  readonly attestationChallenges: ReusableNonces
  /** How the status lists of wallet attestations are loaded. */
  readonly attestationStatus: StatusPolicy
}
