/**
 * Answers token requests. The grant decides (its rules are in `find-grant.ts`), and `access/access-token.ts` makes the
 * token. OpenID4VCI 1.0, Token Endpoint; RFC 6749 section 6.
 */
import { refuseEndedCertificate } from '../../config/ended-certificate.ts'
import { refuse } from '../../protocol/error.ts'
import type { TokenResponse } from '../../protocol/oauth.ts'
import type { Attempt } from '../../store/retry.ts'
import type { Row } from '../../store/store.ts'
import { ACCESS_TOKEN_SECONDS, makeAccessToken } from '../access/access-token.ts'
import { makeGrantedDetails } from '../access/authorization-details.ts'
import { type AuthenticatedClient, authenticateClient, type ClientRequest } from '../access/client-attestation.ts'
import { type DpopProof, type DpopRequest, verifyDpopProof } from '../access/dpop.ts'
import { commitWithSingleUses } from '../access/single-use.ts'
import type { AccessTokenRecord } from '../authorization.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-identifier.ts'
import type { TokenRequest } from '../schemas.ts'
import { type AuthorizedSession, endOfIssuance, type IssuanceSession } from '../session.ts'
import type { Grant } from './grant.ts'
import { readRequestedAccess } from './requested-access.ts'

/** A request to the token endpoint. */
export interface ReceivedTokenRequest extends DpopRequest {
  readonly form: TokenRequest
  readonly sender: ClientRequest
  /** The session in the path, if any. A code or token of another session is refused. */
  readonly sessionId: string | undefined
}

/** A token request for a session, with its DPoP proof and its authenticated wallet instance, if any. */
interface VerifiedTokenRequest {
  readonly form: TokenRequest
  readonly id: string
  readonly proof: DpopProof | undefined
  readonly client: AuthenticatedClient | undefined
}

/**
 * Answers a token request. Refuses with `invalid_request`, `invalid_grant`, `invalid_authorization_details`,
 * `invalid_dpop_proof` or `use_dpop_nonce`, and like {@link refuseEndedCertificate} and {@link authenticateClient}.
 */
export async function answerTokenRequest(
  context: IssuerContext,
  { sessionId: id, unknownDescription, decide }: Grant,
  call: ReceivedTokenRequest,
): Promise<TokenResponse> {
  if (id === undefined || (call.sessionId !== undefined && call.sessionId !== id)) {
    return refuse('invalid_grant', unknownDescription)
  }
  refuseEndedCertificate(context.config.keys, context.now())
  // Verifies the proofs before the transaction code, so that a refused proof does not cost an attempt.
  const client = await authenticateClient(context, call.sender, {
    clientId: call.form.client_id,
    audiences: acceptedIdentifiers(context.config, id),
  })
  const proof = verifyProof(context, call)
  // After a conflict, the request is decided again, so that every wrong transaction code is counted.
  return context.retryOnConflict(async () => {
    const row = (await context.store.get('issuance_session', id)) ?? refuse('invalid_grant', unknownDescription)
    return attemptAnswer(context, { form: call.form, id, proof, client }, row, decide)
  })
}

/**
 * Verifies the DPoP proof of a token request. Returns undefined if there is none and none is required. RFC 9449 section
 * 5.
 */
function verifyProof(context: IssuerContext, call: ReceivedTokenRequest): DpopProof | undefined {
  return call.dpop !== undefined || context.config.dpopRequired ? verifyDpopProof(context, call) : undefined
}

/** Decides on the session as it was read, and commits the decision. */
async function attemptAnswer(
  context: IssuerContext,
  call: VerifiedTokenRequest,
  { value: session, version }: Row<IssuanceSession>,
  decide: Grant['decide'],
): Promise<Attempt<TokenResponse>> {
  const { id, proof, client: sender } = call
  const now = context.now()
  const fetchedAt = session.offerFetchedAt ?? context.progress.getUnwrittenFetchTime(id)
  const currentSession = fetchedAt === undefined ? session : { ...session, offerFetchedAt: fetchedAt }
  const decision = await decide({ id, session: currentSession, jkt: proof?.jkt, client: sender, now })
  if (decision.refusal !== undefined) {
    // A refusal may end the session: too many wrong transaction codes lock it.
    const endedRow = { value: decision.session, dueAt: new Date(endOfIssuance(decision.session)) }
    const conflict = await context.store.commit([{ update: 'issuance_session', id, version, ...endedRow }])
    return conflict === undefined ? refuse('invalid_grant', decision.refusal) : { conflict }
  }
  const request = { form: call.form, sessionId: id, configurationIds: session.configurationIds }
  const { authorizedIds, scope } = await readRequestedAccess(context, request, decision)
  const client =
    sender === undefined ? (decision.client ?? session.client) : { id: sender.id, instance: sender.instance }
  const claims = { sessionId: id, now, jkt: proof?.jkt, client }
  const { accessToken, record } = await makeAccessToken(context, context.keys.accessTokens, claims)
  const issuedBefore = session.issued.length
  const token = {
    ...record,
    ...(authorizedIds && { authorized: authorizedIds }),
    ...(issuedBefore > 0 && { issuedBefore }),
  }
  const { newRefreshToken, extraChanges = [] } = decision
  const granted = session.token === undefined && { granted: { ...(authorizedIds && { authorized: authorizedIds }) } }
  const refresh = newRefreshToken && { refresh: { ...newRefreshToken.refresh, ...granted } }
  const value: AuthorizedSession = { ...decision.session, token, ...(client && { client }), ...refresh }
  const change = { update: 'issuance_session', id, version, value } as const
  const singleUses = [proof, sender].flatMap((each) => each?.singleUse ?? [])
  const conflict = await commitWithSingleUses(context.store, [change, ...extraChanges], singleUses)
  if (conflict !== undefined) return { conflict }
  context.progress.forgetUnwrittenFetchTime(id)
  return { committed: responseOf({ accessToken, token, refreshToken: newRefreshToken?.refreshToken, scope }) }
}

function responseOf({
  accessToken,
  token,
  refreshToken,
  scope,
}: {
  readonly accessToken: string
  readonly token: AccessTokenRecord
  readonly refreshToken: string | undefined
  readonly scope: string | undefined
}): TokenResponse {
  return {
    access_token: accessToken,
    token_type: token.jkt === undefined ? 'Bearer' : 'DPoP',
    expires_in: ACCESS_TOKEN_SECONDS,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(scope && { scope }),
    ...(token.authorized && { authorization_details: makeGrantedDetails(token.authorized) }),
  }
}
