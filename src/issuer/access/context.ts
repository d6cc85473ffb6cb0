/**
 * The context of access, which the authorization, token and credential endpoints share: secrets of codes and nonces,
 * DPoP, wallet attestations, and an external authorization server.
 */
import type { StatusPolicy } from '../../check/status/lists.ts'
import type { Effects } from '../../http/effects.ts'
import type { Secrets } from '../../keys/secrets.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerConfig } from '../config.ts'
import type { ExternalAuthorizationServer } from './external-authorization-server.ts'
import type { TimedNonces } from './timed-nonce.ts'

export interface AccessContext extends Effects<IssuerCollections> {
  readonly config: IssuerConfig
  /** The secrets of all that is checked by a MAC; every process of the service and every restart has the same. */
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
  /** The server that gives the access tokens, where this service does not. */
  readonly externalAuthorizationServer: ExternalAuthorizationServer | undefined
  readonly dpopNonces: TimedNonces
  /** The challenges of the proofs beside wallet attestations. */
  readonly attestationChallenges: TimedNonces
  /** How the status of wallet attestations is found. */
  readonly attestationStatus: StatusPolicy
}
