/** The grant of a token request: the session that it is for, and a decision about it. */
import type { Change } from '../../store/store.ts'
import type { AuthenticatedClient } from '../access/client-attestation.ts'
import type { AuthorizedClient } from '../authorization.ts'
import type { IssuerCollections } from '../collections.ts'
import type { AuthorizedSession, IssuanceSession, OfferedSession } from '../session.ts'
import type { NewRefreshToken } from './refresh-token.ts'

/** A session for which a token is requested. */
export interface SessionForToken {
  readonly id: string
  readonly session: IssuanceSession
  /** The thumbprint of the key of the DPoP proof, where there is one. */
  readonly jkt: string | undefined
  /** The wallet instance that has authenticated itself, where it has. */
  readonly client: AuthenticatedClient | undefined
  readonly now: Date
}

export type GrantDecision = GrantApproval | GrantRefusal

/** The decision that the session gets an access token, and a refresh token if it may have one. */
interface GrantApproval {
  readonly session: OfferedSession | AuthorizedSession
  readonly newRefreshToken: NewRefreshToken | undefined
  /** The wallet that gets the token, where its authorization says. */
  readonly client?: AuthorizedClient
  /** The configurations that its authorization narrows the token to; all of the session where it is absent. */
  readonly authorizedIds?: readonly string[] | undefined
  /** The scope that the authorization request named. */
  readonly scope?: string | undefined
  /** Changes that are committed with the token, which is not given without them. */
  readonly extraChanges?: readonly Change<IssuerCollections>[]
  readonly refusal?: never
}

/** The refusal of a grant: the session to store first, and the description for `invalid_grant`. */
interface GrantRefusal {
  readonly session: IssuanceSession
  readonly refusal: string
}

export interface Grant {
  /** The session that the grant is for; undefined when this issuer has none. */
  readonly sessionId: string | undefined
  /** The description of the refusal when there is no such session. */
  readonly unknownDescription: string
  /**
   * Decides about the session as it was read, and is called again when the session has changed since. A refusal that
   * changes nothing of the session is thrown.
   */
  readonly decide: (call: SessionForToken) => GrantDecision | Promise<GrantDecision>
}
