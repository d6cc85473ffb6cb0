/**
 * The grants of token requests: the code of an offer, or a refresh token. OpenID4VCI 1.0, Token Endpoint; RFC 6749
 * section 6.
 */
import { refuse } from '../../protocol/error.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../../protocol/grant.ts'
import { type AuthenticatedClient, refuseOtherInstance } from '../access/client-attestation.ts'
import { refuseProof } from '../access/dpop.ts'
import { sessionOfAnyCode } from '../access/pre-authorized-code.ts'
import { type Authorization, endTokens } from '../authorization.ts'
import type { IssuerContext } from '../context.ts'
import type { TokenRequest } from '../schemas.ts'
import {
  type AuthorizedSession,
  type IssuanceSession,
  type OfferedSession,
  recordWrongTxCode,
  refuseUnlessRedeemable,
} from '../session.ts'
import {
  firstRefreshToken,
  type MadeRefreshToken,
  nextRefreshToken,
  refuseUnknownRefreshToken,
  sessionOfRefreshToken,
} from './refresh-token.ts'
import { isRightTxCode } from './tx-code.ts'

const WRONG_TX_CODE = 'tx_code: this is not the transaction code'
const LAST_WRONG_TX_CODE = `${WRONG_TX_CODE}; so many wrong ones have ended this offer, ask for a new one`

/** A session, and how it stands when a token is asked for. */
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

/** The session gets an access token, and a refresh token if it may have one. */
interface GrantApproval {
  readonly session: OfferedSession | AuthorizedSession
  readonly next: MadeRefreshToken | undefined
  readonly refusal?: never
}

/** The description of `invalid_grant`, once the session is stored as it is here. */
interface GrantRefusal {
  readonly session: IssuanceSession
  readonly refusal: string
}

export interface Grant {
  /** The session that it is for, or undefined when it is none of ours. */
  readonly sessionId: string | undefined
  /** The description of the refusal when there is no such session. */
  readonly unknown: string
  /** Decides about the session as it was read; again when it has changed since. Refuses without effect by throwing. */
  readonly decide: (asked: SessionForToken) => GrantDecision | Promise<GrantDecision>
}

/** The grant of a token request. Refuses with `unsupported_grant_type` or `invalid_request`. */
export async function grantOf(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  if (form.grant_type === PRE_AUTHORIZED_GRANT) return codeGrant(context, form)
  if (form.grant_type === REFRESH_GRANT) return refreshGrant(context, form)
  const names = `${PRE_AUTHORIZED_GRANT} or ${REFRESH_GRANT}`
  return refuse(form.grant_type ? 'unsupported_grant_type' : 'invalid_request', `grant_type must be ${names}`)
}

async function codeGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const code = form['pre-authorized_code'] || refuse('invalid_request', 'pre-authorized_code is missing')
  return {
    sessionId: await sessionOfAnyCode(context, code),
    unknown: 'the pre-authorized code is unknown; scan the credential offer again',
    decide: ({ id, session, now }) => {
      refuseUnlessRedeemable(session, now)
      if (!isRightTxCode(context, id, session.txCode, form.tx_code)) {
        const wronged = recordWrongTxCode(session, now)
        return { session: wronged, refusal: wronged.lockedAt === undefined ? WRONG_TX_CODE : LAST_WRONG_TX_CODE }
      }
      return { session, next: firstRefreshToken(context, id, session, now) }
    },
  }
}

function refreshGrant(context: IssuerContext, form: TokenRequest): Grant {
  const refreshToken = form.refresh_token || refuse('invalid_request', 'refresh_token is missing')
  return {
    sessionId: sessionOfRefreshToken(refreshToken),
    unknown: 'the refresh token is unknown',
    decide: async ({ id, session, jkt, client, now }) => {
      if (session.token === undefined) return refuseUnknownRefreshToken()
      refuseOtherInstance(session.client, client)
      refuseOtherKey(session, jkt)
      const next = nextRefreshToken(context, id, session, { refreshToken, now })
      if ('problem' in next) return { session: endTokens(session, now), refusal: next.problem }
      await refuseUnlessValid(context, id)
      return { session, next }
    },
  }
}

/** The refresh tokens of a wallet that nobody knows are bound to the key of its access token. RFC 9449 section 5. */
function refuseOtherKey({ token }: Authorization, jkt: string | undefined): void {
  if (token.jkt === undefined || token.jkt === jkt) return
  if (jkt === undefined) refuseProof('it is missing; the refresh token is bound to a key')
  refuse('invalid_grant', 'the refresh token is bound to another key')
}

/** Refuses to renew credentials that have been revoked or suspended. */
async function refuseUnlessValid({ store }: IssuerContext, sessionId: string): Promise<void> {
  const { state } = (await store.get('credential_status', sessionId))?.value ?? { state: 'VALID' }
  if (state !== 'VALID') refuse('invalid_grant', `the credentials of this session have been ${state.toLowerCase()}`)
}
