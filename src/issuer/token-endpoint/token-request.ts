/**
 * The token endpoint: what each grant asks is in grants.ts, what a token is and how it is known again in access-token.ts.
 * OpenID4VCI 1.0, Token Endpoint; RFC 6749 section 6.
 */
import { refuse } from '../../protocol/error.ts'
import type { TokenResponse } from '../../protocol/oauth.ts'
import type { Attempt } from '../../store/retry.ts'
import type { Row } from '../../store/store.ts'
import type { IssuerContext } from '../context.ts'
import { draft13Nonce } from '../credential-endpoint/draft13.ts'
import { identifierOf } from '../metadata.ts'
import type { TokenRequest } from '../schemas.ts'
import { endOf, type IssuanceSession } from '../session.ts'
import { makeAccessToken, TOKEN_SECONDS } from './access-token.ts'
import { grantedDetails, readAuthorizationDetails } from './authorization-details.ts'
import { type DpopProof, type ProvedRequest, refuseReplayedProof, verifyDpopProof } from './dpop.ts'
import type { Decision, Grant } from './grants.ts'

/** What came to the token endpoint. */
export interface TokenCall extends ProvedRequest {
  readonly form: TokenRequest
  /** Of the path, where there is one: what is of another session is refused there. */
  readonly sessionId: string | undefined
}

/** A call that is for a session, with its DPoP proof, where there is one. */
interface SessionCall {
  readonly form: TokenRequest
  readonly id: string
  readonly proof: DpopProof | undefined
}

/**
 * Answers a token request. Refuses with `invalid_request`, `invalid_grant`, `invalid_authorization_details`, `invalid_dpop_proof`
 * or `use_dpop_nonce`.
 */
export async function answerTokenRequest(
  context: IssuerContext,
  { sessionId: id, unknown, decide }: Grant,
  call: TokenCall,
): Promise<TokenResponse> {
  if (id === undefined || (call.sessionId !== undefined && call.sessionId !== id)) {
    return refuse('invalid_grant', unknown)
  }
  // Before the transaction code: a proof that has to be made again costs no attempt.
  const proof = proofOf(context, call)
  // A request that another one has overtaken is decided anew, so that every wrong transaction code counts.
  return context.retryOnConflict(async () => {
    const row = (await context.store.get('issuance_session', id)) ?? refuse('invalid_grant', unknown)
    return attemptAnswer(context, { form: call.form, id, proof }, row, decide)
  })
}

/** RFC 9449 section 5: whoever sends a proof gets a token that is bound to its key. */
function proofOf(context: IssuerContext, call: TokenCall): DpopProof | undefined {
  return call.dpop !== undefined || context.config.dpopRequired ? verifyDpopProof(context, call) : undefined
}

/** Decides about the session as it was read, and commits the decision. */
async function attemptAnswer(
  context: IssuerContext,
  call: SessionCall,
  { value: session, version }: Row<IssuanceSession>,
  decide: Grant['decide'],
): Promise<Attempt<TokenResponse>> {
  const { id, proof } = call
  const now = context.now()
  const fetchedAt = session.offerFetchedAt ?? context.progress.unwrittenFetch(id)
  const known = fetchedAt === undefined ? session : { ...session, offerFetchedAt: fetchedAt }
  const decision = await decide({ id, session: known, jkt: proof?.jkt, now })
  if (decision.refusal !== undefined) {
    // Its end may have come nearer.
    const ended = { value: decision.session, dueAt: new Date(endOf(decision.session)) }
    const conflict = await context.store.commit([{ update: 'issuance_session', id, version, ...ended }])
    return conflict === undefined ? refuse('invalid_grant', decision.refusal) : { conflict }
  }
  const authorized = authorizedBy(context, call, session)
  const { accessToken, token } = await makeAccessToken(context, id, { now, jkt: proof?.jkt })
  const issuedBefore = session.issued.length
  const more = { ...(authorized && { authorized }), ...(issuedBefore > 0 && { issuedBefore }) }
  const given = { ...token, ...more }
  const value: IssuanceSession = { ...decision.session, token: given }
  const spends = proof === undefined ? [] : [proof.spend]
  const conflict = await context.store.commit([{ update: 'issuance_session', id, version, value }, ...spends])
  if (spends.some((spend) => spend === conflict)) refuseReplayedProof()
  if (conflict !== undefined) return { conflict }
  context.progress.forgetFetch(id)
  return { committed: responseOf(context, id, { accessToken, token: given, refreshToken: decision.refreshToken }) }
}

function responseOf(
  context: IssuerContext,
  id: string,
  given: Pick<Decision, 'refreshToken'> & Pick<Required<IssuanceSession>, 'token'> & { readonly accessToken: string },
): TokenResponse {
  const { accessToken, token, refreshToken } = given
  return {
    access_token: accessToken,
    token_type: token.jkt === undefined ? 'Bearer' : 'DPoP',
    expires_in: TOKEN_SECONDS,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(token.authorized && { authorization_details: grantedDetails(token.authorized) }),
    ...(context.config.draft13 ? draft13Nonce(context, id) : {}),
  }
}

/** The configurations that authorization details name or named, or undefined when they never did; never more than before. */
function authorizedBy(
  context: IssuerContext,
  { form, id }: SessionCall,
  { configurationIds, token }: IssuanceSession,
): readonly string[] | undefined {
  const { authorization_details: details } = form
  if (!details) return token?.authorized
  const identifiers = [id, undefined].map((sessionId) => identifierOf(context, sessionId))
  return readAuthorizationDetails(details, token?.authorized ?? configurationIds, identifiers)
}
