/**
 * The grants of token requests: pre-authorized code, authorization code, and refresh token. OpenID4VCI 1.0, Token
 * Endpoint; RFC 6749 section 6.
 */
import { refuse } from '../../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../../protocol/grant.ts'
import { refuseOtherInstance } from '../access/client-attestation.ts'
import { findSessionIdOfCode } from '../access/pre-authorized-code.ts'
import { type Authorization, endTokens, grantedIdsOf } from '../authorization.ts'
import type { IssuerContext } from '../context.ts'
import type { TokenRequest } from '../schemas.ts'
import { type EndedOffer, hasGrant, recordWrongTxCode, refuseUnlessUnused } from '../session.ts'
import { requireValidStatus } from '../status-list/entries.ts'
import { findAuthorizationCodeGrant } from './authorization-code.ts'
import { type Grant, refuseOtherClient, refuseOtherKey } from './grant.ts'
import {
  makeFirstRefreshToken,
  makeNextRefreshToken,
  refuseUnknownRefreshToken,
  sessionIdOfRefreshToken,
  UNKNOWN_REFRESH_TOKEN,
} from './refresh-token.ts'
import { isRightTxCode } from './tx-code.ts'

const WRONG_TX_CODE = 'tx_code: this is not the transaction code'
const LAST_WRONG_TX_CODE = `${WRONG_TX_CODE}; so many wrong ones have ended this offer, ask for a new one`

const DECIDED_FOR_PERSON = 'the credential is for a person who was asked; ask for a new offer'
const UNKNOWN_CODE = 'the pre-authorized code is unknown; scan the credential offer again'
const ENDED_OFFER: EndedOffer = {
  used: 'the pre-authorized code has been used',
  locked: 'the pre-authorized code is void after too many wrong transaction codes; ask for a new offer',
  expired: 'the pre-authorized code has expired',
}

/** Returns the grant of a token request. Refuses with `unsupported_grant_type` or `invalid_request`. */
export async function findGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const hasPreAuthorized = context.config.profile === undefined
  if (form.grant_type === PRE_AUTHORIZED_GRANT && hasPreAuthorized) return findPreAuthorizedGrant(context, form)
  if (form.grant_type === REFRESH_GRANT) return makeRefreshGrant(context, form)
  if (form.grant_type === AUTHORIZATION_CODE_GRANT && context.config.codeFlow !== undefined) {
    return findAuthorizationCodeGrant(context, form)
  }
  const names = `${hasPreAuthorized ? PRE_AUTHORIZED_GRANT : AUTHORIZATION_CODE_GRANT} or ${REFRESH_GRANT}`
  return refuse(form.grant_type ? 'unsupported_grant_type' : 'invalid_request', `grant_type must be ${names}`)
}

async function findPreAuthorizedGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const code =
    form['pre-authorized_code'] || refuse('invalid_request', 'pre-authorized_code is missing; send that of the offer')
  return {
    sessionId: await findSessionIdOfCode(context, code),
    unknownDescription: UNKNOWN_CODE,
    decide: ({ id, session, now }) => {
      if (!hasGrant(session, PRE_AUTHORIZED_GRANT)) refuse('invalid_grant', UNKNOWN_CODE)
      // The dataset belongs to the person of an authorization request, and another person may hold the offer.
      if (session.deferral?.decided?.requestId !== undefined) refuse('invalid_grant', DECIDED_FOR_PERSON)
      refuseUnlessUnused(session, now, 'invalid_grant', ENDED_OFFER)
      if (!isRightTxCode(context, id, session.txCode, form.tx_code)) {
        const updatedSession = recordWrongTxCode(session, now)
        return {
          session: updatedSession,
          refusal: updatedSession.lockedAt === undefined ? WRONG_TX_CODE : LAST_WRONG_TX_CODE,
        }
      }
      return { session, newRefreshToken: makeFirstRefreshToken(context, id, session, now) }
    },
  }
}

function makeRefreshGrant(context: IssuerContext, form: TokenRequest): Grant {
  const refreshToken =
    form.refresh_token || refuse('invalid_request', 'refresh_token is missing; send that of the last token response')
  return {
    sessionId: sessionIdOfRefreshToken(refreshToken),
    unknownDescription: UNKNOWN_REFRESH_TOKEN,
    decide: async ({ id, session, jkt, client, now }) => {
      if (session.token === undefined) return refuseUnknownRefreshToken()
      refuseOtherRefresher(session, form)
      refuseOtherInstance('refresh token', session.client, client)
      // The refresh token of an unauthenticated wallet is bound to the key of its access token.
      refuseOtherKey('refresh token', session.token.jkt, jkt)
      const newRefreshToken = makeNextRefreshToken(context, id, session, { refreshToken, now })
      if ('problem' in newRefreshToken) return { session: endTokens(session, now), refusal: newRefreshToken.problem }
      await requireValidStatus(context.store, id, 'invalid_grant')
      return { session, newRefreshToken, authorizedIds: grantedIdsOf(session) }
    },
  }
}

/** Refuses a client other than the one that the refresh token was issued to. RFC 6749 section 6. */
function refuseOtherRefresher({ client }: Authorization, { client_id: id }: TokenRequest): void {
  if (client === undefined) return
  // `refuseOtherInstance` compares an authenticated instance.
  if (!id && client.instance !== undefined) return
  refuseOtherClient('refresh token', client.id, id)
}
