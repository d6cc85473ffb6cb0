/** The grant of a pre-authorized code, with the transaction code of its offer. OpenID4VCI 1.0, Token Request. */
import { refuse } from '../../protocol/error.ts'
import { PRE_AUTHORIZED_GRANT } from '../../protocol/grant-types.ts'
import { findSessionIdOfPreAuthorizedCode } from '../access/pre-authorized-code.ts'
import type { IssuerContext } from '../context.ts'
import { hasGrant, recordWrongTxCode, refuseUnlessUnused } from '../session.ts'
import type { Grant } from './grant.ts'
import { makeFirstRefreshToken } from './refresh-token.ts'
import type { TokenRequest } from './schemas.ts'
import { isRightTxCode } from './tx-code.ts'

const WRONG_TX_CODE = 'tx_code: this is not the transaction code'
const LAST_WRONG_TX_CODE = `${WRONG_TX_CODE}; so many wrong ones have ended this offer, ask for a new one`

const DECIDED_FOR_PERSON = 'the credential is for a person who was asked; ask for a new offer'
const UNKNOWN_CODE = 'the pre-authorized code is unknown; scan the credential offer again'

/** Returns the grant of a pre-authorized code. Refuses with `invalid_request` a missing code. */
export async function findPreAuthorizedGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const code =
    form['pre-authorized_code'] || refuse('invalid_request', 'pre-authorized_code is missing; send that of the offer')
  return {
    sessionId: await findSessionIdOfPreAuthorizedCode(context, code),
    unknownDescription: UNKNOWN_CODE,
    decide: ({ sessionId, session, now }) => {
      if (!hasGrant(session, PRE_AUTHORIZED_GRANT)) refuse('invalid_grant', UNKNOWN_CODE)
      // The dataset belongs to the person of an authorization request, and another person may hold the offer.
      if (session.deferral?.decided?.requestId !== undefined) refuse('invalid_grant', DECIDED_FOR_PERSON)
      refuseUnlessUnused(session, now, 'invalid_grant')
      if (!isRightTxCode(context, sessionId, session.txCode, form.tx_code)) {
        const updatedSession = recordWrongTxCode(session, now)
        return {
          session: updatedSession,
          refusal: updatedSession.lockedAt === undefined ? WRONG_TX_CODE : LAST_WRONG_TX_CODE,
        }
      }
      return { session, newRefreshToken: makeFirstRefreshToken(context, sessionId, session, now) }
    },
  }
}
