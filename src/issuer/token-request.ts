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
import { type DpopProof, type ProvedRequest, refuseReplayedProof, verifyDpopProof } from './dpop.ts'
import { draft13Nonce } from './draft13.ts'
import { identifierOf } from './metadata.ts'
import { sessionOfAnyCode } from './pre-authorized-code.ts'
import type { TokenRequest } from './schemas.ts'
import { type IssuanceSession, recordWrongTxCode, refuseUnlessRedeemable } from './session.ts'
import { isRightTxCode } from './tx-code.ts'

/** What came to the token endpoint. */
export interface TokenCall extends ProvedRequest {
  readonly form: TokenRequest
  /** Of the path, where there is one: what is of another session is refused there. */
  readonly sessionId: string | undefined
}

/** A call whose DPoP proof, where there is one, was verified. */
interface ProvedCall extends TokenCall {
  readonly proof: DpopProof | undefined
}

/**
 * Answers a token request. Refuses with `unsupported_grant_type`, `invalid_request`, `invalid_grant`,
 * `invalid_authorization_details`, `invalid_dpop_proof` or `use_dpop_nonce`.
 */
export async function answerTokenRequest(context: IssuerContext, call: TokenCall): Promise<TokenResponse> {
  const id = await sessionOfRequest(context, call.form)
  const ours = id !== undefined && (call.sessionId === undefined || call.sessionId === id)
  // Before the transaction code: a proof that has to be made again costs no attempt.
  const proof = proofOf(context, call)
  for (;;) {
    const row = ours ? await context.store.get('issuance_session', id) : undefined
    if (id === undefined || row === undefined) {
      return refuse('invalid_grant', 'the pre-authorized code is unknown; scan the credential offer again')
    }
    const response = await redeemCode(context, { ...call, proof }, id, row)
    // Another request changed the session: this one is decided anew, so that every wrong transaction code counts.
    if (response !== undefined) return response
  }
}

/** RFC 9449 section 5: whoever sends a proof gets a token that is bound to its key. */
function proofOf(context: IssuerContext, call: TokenCall): DpopProof | undefined {
  return call.dpop !== undefined || context.config.dpopRequired ? verifyDpopProof(context, call) : undefined
}

/** The response, or undefined when the session is not as it was read any more. */
async function redeemCode(
  context: IssuerContext,
  call: ProvedCall,
  id: string,
  { value: session, version }: Row<IssuanceSession>,
): Promise<TokenResponse | undefined> {
  const now = context.now()
  refuseUnlessRedeemable(session, now)
  if (!isRightTxCode(context, id, session.txCode, call.form.tx_code)) {
    const value = recordWrongTxCode(session, now)
    const end = value.lockedAt === undefined ? {} : { dueAt: now }
    const failed = await context.store.commit([{ update: 'issuance_session', id, version, value, ...end }])
    return failed === undefined ? refuse('invalid_grant', 'tx_code: this is not the transaction code') : undefined
  }
  const authorized = authorizedBy(context, call.form, { id, session })
  const jkt = call.proof?.jkt
  const { accessToken, token } = await makeAccessToken(context, id, { now, jkt })
  const value = { ...session, token: { ...token, ...(authorized && { authorized }) } }
  const spends = call.proof === undefined ? [] : [call.proof.spend]
  const failed = await context.store.commit([{ update: 'issuance_session', id, version, value }, ...spends])
  if (failed !== undefined) return failed === 0 ? undefined : refuseReplayedProof()
  return {
    access_token: accessToken,
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
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
