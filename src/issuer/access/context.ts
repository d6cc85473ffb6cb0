/**
 * The part of the service's context that the authorization, token and credential endpoints share: the secrets for codes
 * and nonces, DPoP, wallet attestations, and the external authorization server.
 */
import type { StatusPolicy } from '../../check/status/lists.ts'
import type { Effects } from '../../http/effects.ts'
import type { Secrets } from '../../keys/secrets.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerConfig } from '../config.ts'
import type { ExternalAuthorizationServer } from './external-authorization-server.ts'
import type { ReusableNonces } from './reusable-nonce.ts'

export interface AccessContext extends Effects<IssuerCollections> {
  readonly config: IssuerConfig
  /**
   * The secrets for MACs and encrypted values. All processes of the service have the same ones, also after a restart.
   */
  readonly secrets: {
    readonly code: Secrets
    readonly suppliedCode: Secrets
    readonly issuerState: Secrets
    readonly pushedRequest: Secrets
    readonly signInState: Secrets
    readonly authorizationCode: Secrets
    readonly txCode: Secrets
    readonly rememberedTxCode: Secrets
    readonly refresh: Secrets
    readonly nonce: Secrets
    readonly dpopNonce: Secrets
    readonly attestationChallenge: Secrets
    readonly notification: Secrets
  }
  /** The external authorization server; undefined when this service issues the access tokens. */
  readonly externalAuthorizationServer: ExternalAuthorizationServer | undefined
  readonly dpopNonces: ReusableNonces
  /** The challenges for proofs of possession of wallet attestations. */
  readonly attestationChallenges: ReusableNonces
  /** How the status lists of wallet attestations are loaded. */
  readonly attestationStatus: StatusPolicy
}
