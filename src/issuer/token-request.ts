/**
 * The token endpoint: one code, one token. Pre-authorized code grant: OpenID4VCI 1.0, Token Endpoint. What a token is and how
 * it is known again is in access-token.ts.
 */
import { type ErrorCode, refuse } from '../protocol/error.ts'
import { PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import type { TokenResponse } from '../protocol/oauth.ts'
import type { Row } from '../store/store.ts'
import { makeAccessToken, TOKEN_SECONDS } from './access-token.ts'
import { grantedDetails, readAuthorizationDetails } from './authorization-details.ts'
import type { IssuerContext } from './context.ts'
import { draft13Nonce } from './draft13.ts'
import { identifierOf } from './metadata.ts'
import { sessionOfAnyCode } from './pre-authorized-code.ts'
import type { TokenRequest } from './schemas.ts'
import { type IssuanceSession, recordWrongTxCode, refuseUnlessRedeemable } from './session.ts'
import { isRightTxCode } from './tx-code.ts'

/**
 * Redeems a pre-authorized code. `sessionId` is the session of the path, where there is one; a code of another session is
 * refused there. Refuses with `unsupported_grant_type`, `invalid_request`, `invalid_grant` or `invalid_authorization_details`.
 */
export async function redeemCode(
  context: IssuerContext,
  request: TokenRequest,
  sessionId: string | undefined,
): Promise<TokenResponse> {
  const id = await sessionOfRequest(context, request)
  const ours = id !== undefined && (sessionId === undefined || sessionId === id)
  for (;;) {
    const row = ours ? await context.store.get('issuance_session', id) : undefined
    if (id === undefined || row === undefined) {
      return refuse('invalid_grant', 'the pre-authorized code is unknown; scan the credential offer again')
    }
    const response = await redeemOnce(context, request, id, row)
    // Another request changed the session: this one is decided anew, so that every wrong transaction code counts.
    if (response !== undefined) return response
  }
}

/** The response, or undefined when the session is not as it was read any more. */
async function redeemOnce(
  context: IssuerContext,
  request: TokenRequest,
  id: string,
  { value: session, version }: Row<IssuanceSession>,
): Promise<TokenResponse | undefined> {
  const now = context.now()
  refuseUnlessRedeemable(session, now)
  if (!isRightTxCode(context, id, session.txCode, request.tx_code)) {
    const value = recordWrongTxCode(session, now)
    const end = value.lockedAt === undefined ? {} : { dueAt: now }
    const failed = await context.store.commit([{ update: 'issuance_session', id, version, value, ...end }])
    return failed === undefined ? refuse('invalid_grant', 'tx_code: this is not the transaction code') : undefined
  }
  const authorized = authorizedBy(context, request, { id, session })
  const { accessToken, token } = await makeAccessToken(context, id, now)
  const value = { ...session, token: { ...token, ...(authorized && { authorized }) } }
  const failed = await context.store.commit([{ update: 'issuance_session', id, version, value }])
  if (failed !== undefined) return undefined
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    ...(authorized && { authorization_details: grantedDetails(authorized) }),
    ...(context.config.draft13 ? draft13Nonce(context, id) : {}),
  }
}

/** The session that the code of the request is for, or undefined when there is none. */
async function sessionOfRequest(context: IssuerContext, request: TokenRequest): Promise<string | undefined> {
  if (request.grant_type !== PRE_AUTHORIZED_GRANT) {
    const code: ErrorCode = request.grant_type ? 'unsupported_grant_type' : 'invalid_request'
    refuse(code, `grant_type must be ${PRE_AUTHORIZED_GRANT}`)
  }
  const code = request['pre-authorized_code']
  if (!code) return refuse('invalid_request', 'pre-authorized_code is missing')
  return sessionOfAnyCode(context, code)
}

/** The configurations that authorization details name, or undefined when there are none. */
function authorizedBy(
  context: IssuerContext,
  { authorization_details: details }: TokenRequest,
  { id, session }: { readonly id: string; readonly session: IssuanceSession },
): readonly string[] | undefined {
  const identifiers = [id, undefined].map((sessionId) => identifierOf(context, sessionId))
  return details ? readAuthorizationDetails(details, session.configurationIds, identifiers) : undefined
}
