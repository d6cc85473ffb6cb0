/** The grant of a token request: its session, and the decision whether it gets a token. */
import type { Change } from '../../store/store.ts'
import type { AuthenticatedClient } from '../access/client-attestation.ts'
import type { AuthorizedClient } from '../authorization.ts'
import type { IssuerCollections } from '../collections.ts'
import type { AuthorizedSession, IssuanceSession, OfferedSession } from '../session.ts'
import type { NewRefreshToken } from './refresh-token.ts'
import type { Access } from './requested-access.ts'

/** A session for which a token is requested, and the verified parts of the request. */
export interface SessionForToken {
  readonly id: string
  readonly session: IssuanceSession
  /** The JWK thumbprint of the DPoP proof's key, if there is a proof. */
  readonly jkt: string | undefined
  /** The authenticated wallet instance, if any. */
  readonly client: AuthenticatedClient | undefined
  readonly now: Date
}

export type GrantDecision = GrantApproval | GrantRefusal

/** The decision to issue an access token for all of the grant, and a refresh token if the session has any. */
interface GrantApproval extends Access {
  readonly session: OfferedSession | AuthorizedSession
  readonly newRefreshToken: NewRefreshToken | undefined
  /** The client that gets the token, if it is known. */
  readonly client?: AuthorizedClient
  /** Changes that must be committed with the token. */
  readonly extraChanges?: readonly Change<IssuerCollections>[]
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
  readonly decide: (call: SessionForToken) => GrantDecision | Promise<GrantDecision>
}
