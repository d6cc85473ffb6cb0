/** The grant of a token request: its session, the client and key that it is bound to, and the decision on a token. */

import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { AuthenticatedClient, BoundGrant } from '../access/client-attestation.ts'
import { refuseDpopProof } from '../access/dpop.ts'
import type { IssuerCollections } from '../collections.ts'
import type { AuthorizedClient, RefreshState } from '../issued-tokens.ts'
import type { IssuanceSession, RedeemedSession, UnredeemedSession } from '../session.ts'
import type { Access } from './requested-access.ts'

/** A session for which a token is requested, and the verified parts of the request. */
export interface SessionForToken {
  readonly sessionId: string
  readonly session: IssuanceSession
  /** The JWK thumbprint of the DPoP proof's key, if there is a proof. */
  readonly jkt: string | undefined
  /** The authenticated wallet instance, if any. */
  readonly client: AuthenticatedClient | undefined
  readonly now: Date
}

/** A refresh token, and the state that the session stores. */
export interface NewRefreshToken {
  readonly refreshToken: string
  readonly refresh: RefreshState
}

export type GrantDecision = GrantApproval | GrantRefusal

/** The decision to issue an access token for all of the grant, and a refresh token if the session has any. */
export interface GrantApproval extends Access {
  readonly session: UnredeemedSession | RedeemedSession
  readonly newRefreshToken: NewRefreshToken | undefined
  /** The client that gets the token, if it is known. */
  readonly client?: AuthorizedClient
  /** Changes that must be committed with the token. */
  readonly otherChanges?: readonly Change<IssuerCollections>[]
  readonly refusal?: never
}

/** The refusal of a grant: the session to store, and the description for `invalid_grant`. */
interface GrantRefusal {
  readonly session: IssuanceSession
  readonly refusal: string
}

export interface Grant {
  /** The session of the grant; undefined if there is none. */
  readonly sessionId: string | undefined
  /** The description of the refusal if there is no session. */
  readonly unknownDescription: string
  /**
   * Decides on the session, and again after the session has changed. Throws a refusal that does not change the session.
   */
  readonly decide: (tokenRequest: SessionForToken) => GrantDecision | Promise<GrantDecision>
}

/** Refuses a request of another client than the one that the grant was given to. RFC 6749 sections 4.1.3 and 6. */
export function refuseOtherClient(grant: BoundGrant, boundId: string, clientId: string | undefined): void {
  if (!clientId) refuse('invalid_request', 'client_id is missing; send that of the authorization request')
  if (clientId !== boundId) {
    refuse(
      'invalid_grant',
      `client_id: the ${grant} was given to another client; send the client_id that it was given to`,
    )
  }
}

/** Refuses a DPoP proof whose key is not the one that the grant is bound to. RFC 9449 sections 5 and 10. */
export function refuseOtherKey(grant: BoundGrant, boundKey: string | undefined, proofKey: string | undefined): void {
  if (boundKey === undefined || boundKey === proofKey) return
  if (proofKey === undefined) refuseDpopProof(`it is missing; the ${grant} is bound to a key`)
  refuse('invalid_grant', `the ${grant} is bound to another key; sign the DPoP proof with the key of the first one`)
}
