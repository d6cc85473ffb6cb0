/**
 * Answers token requests: finds the grant (a pre-authorized code, an authorization code, or a refresh token), which
 * decides; `access/access-token.ts` makes the token. OpenID4VCI 1.0, Token Endpoint; RFC 6749.
 */
import { refuseEndedCertificate } from '../../config/certificate-end.ts'
import { refuse } from '../../protocol/error.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../../protocol/grant-types.ts'
import type { TokenResponse } from '../../protocol/oauth.ts'
import type { Attempt } from '../../store/retry.ts'
import { ACCESS_TOKEN_SECONDS, makeAccessToken } from '../access/access-token.ts'
import { makeGrantedDetails } from '../access/authorization-details.ts'
import { type AuthenticatedClient, authenticateClient, type ClientRequest } from '../access/client-attestation.ts'
import { type DpopProof, type DpopRequest, verifyDpopProof } from '../access/dpop.ts'
import { commitWithSingleUses } from '../access/single-use.ts'
import { supportedGrants } from '../authorization-server-metadata.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-addresses.ts'
import { endOfSession, type RedeemedSession } from '../session.ts'
import { findAuthorizationCodeGrant } from './authorization-code.ts'
import type { Grant, GrantApproval, GrantDecision } from './grant.ts'
import { findPreAuthorizedGrant } from './pre-authorized-grant.ts'
import { makeRefreshGrant } from './refresh-token.ts'
import { readRequestedAccess } from './requested-access.ts'
import type { TokenRequest } from './schemas.ts'

/** A request to the token endpoint. */
export interface ReceivedTokenRequest extends DpopRequest {
  readonly form: TokenRequest
  /** The headers that authenticate the wallet instance, not verified. */
  readonly clientRequest: ClientRequest
  /** The session in the path, if any. A code or token of another session is refused. */
  readonly sessionId: string | undefined
}

/** A token request for a session, with its DPoP proof and its authenticated wallet instance, if any. */
interface VerifiedTokenRequest {
  readonly form: TokenRequest
  readonly sessionId: string
  readonly proof: DpopProof | undefined
  readonly authenticatedClient: AuthenticatedClient | undefined
}

/** Returns the grant of a token request. Refuses with `unsupported_grant_type` or `invalid_request`. */
export async function findGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const { grant_type: type = '' } = form
  const supported = supportedGrants(context.config)
  if (!supported.includes(type)) {
    refuse(type ? 'unsupported_grant_type' : 'invalid_request', `grant_type must be ${supported.join(' or ')}`)
  }
  if (type === PRE_AUTHORIZED_GRANT) return findPreAuthorizedGrant(context, form)
  return type === REFRESH_GRANT ? makeRefreshGrant(context, form) : findAuthorizationCodeGrant(context, form)
}

/**
 * Answers a token request. Refuses with `invalid_request`, `invalid_grant`, `invalid_authorization_details`,
 * `invalid_dpop_proof` or `use_dpop_nonce`, with `too_many_requests` if too many requests of the session wait, and like
 * {@link refuseEndedCertificate} and {@link authenticateClient}.
 */
export async function answerTokenRequest(
  context: IssuerContext,
  { sessionId, unknownDescription, decide }: Grant,
  request: ReceivedTokenRequest,
): Promise<TokenResponse> {
  if (sessionId === undefined || (request.sessionId !== undefined && request.sessionId !== sessionId)) {
    return refuse('invalid_grant', unknownDescription)
  }
  refuseEndedCertificate(context.config.keys, context.now())
  // Verifies the proofs before the transaction code, so that a refused proof does not cost an attempt.
  const authenticatedClient = await authenticateClient(context, request.clientRequest, {
    clientId: request.form.client_id,
    audiences: acceptedIdentifiers(context.config, sessionId),
  })
  const proof = verifyDpopIfUsed(context, request)
  const verifiedRequest = { form: request.form, sessionId, proof, authenticatedClient }
  const decideNow = (): Promise<DecidedSession> =>
    decideOnStored(context, verifiedRequest, { unknownDescription, decide })
  // After a conflict, the request is decided again, so that every wrong transaction code is counted.
  return context.retryOnConflict(async () => {
    const decidedSession = await decideNow()
    // Nothing is signed for a request that another one overtakes. Those that are refused at once need not wait, so that
    // whoever knows the session id alone delays nobody.
    return context.queueForSession(sessionId, async (hasWaited) =>
      commitDecision(context, verifiedRequest, hasWaited ? await decideNow() : decidedSession),
    )
  })
}

/**
 * Verifies the DPoP proof of a token request. Returns undefined if there is none and none is required. RFC 9449 section
 * 5.
 */
function verifyDpopIfUsed(context: IssuerContext, request: ReceivedTokenRequest): DpopProof | undefined {
  return request.dpop !== undefined || context.config.dpopRequired ? verifyDpopProof(context, request) : undefined
}

/** The decision on a session, with the version of its row and the time of the decision. */
interface DecidedSession {
  readonly decision: GrantDecision
  readonly version: number
  readonly now: Date
}

/** Decides on the session as it is stored now. */
async function decideOnStored(
  context: IssuerContext,
  { sessionId, proof, authenticatedClient }: VerifiedTokenRequest,
  { unknownDescription, decide }: Pick<Grant, 'unknownDescription' | 'decide'>,
): Promise<DecidedSession> {
  const row = await context.store.get('issuance_session', sessionId)
  const { value: session, version } = row ?? refuse('invalid_grant', unknownDescription)
  const now = context.now()
  const fetchedAt = session.offerFetchedAt ?? context.progress.getUnwritten(sessionId).offerFetchedAt
  const currentSession = fetchedAt === undefined ? session : { ...session, offerFetchedAt: fetchedAt }
  const decision = await decide({
    sessionId,
    session: currentSession,
    jkt: proof?.jkt,
    client: authenticatedClient,
    now,
  })
  return { decision, version, now }
}

/** Makes the tokens of a decision, or refuses by it, and commits the session. */
async function commitDecision(
  context: IssuerContext,
  request: VerifiedTokenRequest,
  { decision, version, now }: DecidedSession,
): Promise<Attempt<TokenResponse>> {
  const { sessionId: id, proof, authenticatedClient } = request
  if (decision.refusal !== undefined) {
    // A refusal may end the session: too many wrong transaction codes lock it.
    const endedRow = { value: decision.session, dueAt: new Date(endOfSession(decision.session)) }
    const conflict = await context.store.commit([{ update: 'issuance_session', id, version, ...endedRow }])
    return conflict === undefined ? refuse('invalid_grant', decision.refusal) : { conflict }
  }
  const { value, response } = await makeTokens(context, request, decision, now)
  const dueAt = new Date(endOfSession(value))
  const change = { update: 'issuance_session', id, version, value, dueAt } as const
  const singleUses = [proof, authenticatedClient].flatMap((each) => each?.singleUse ?? [])
  const conflict = await commitWithSingleUses(context.store, [change, ...(decision.otherChanges ?? [])], singleUses)
  if (conflict !== undefined) return { conflict }
  context.progress.forgetUnwrittenFetch(id)
  return { committed: response }
}

/** Makes the tokens that a grant approved: the session that stores them, and the response that has them. */
async function makeTokens(
  context: IssuerContext,
  { form, sessionId, proof, authenticatedClient }: VerifiedTokenRequest,
  approval: GrantApproval,
  now: Date,
): Promise<{ readonly value: RedeemedSession; readonly response: TokenResponse }> {
  const { session, newRefreshToken } = approval
  const { configurationIds } = session
  const { authorizedIds, scope } = await readRequestedAccess(context, { form, sessionId, configurationIds }, approval)
  const client =
    authenticatedClient === undefined
      ? (approval.client ?? session.client)
      : { id: authenticatedClient.id, instance: authenticatedClient.instance }
  const claims = { sessionId, now, jkt: proof?.jkt, client }
  const { accessToken, record } = await makeAccessToken(context, context.keys.accessTokenSigner, claims)
  const authorized = authorizedIds && { authorized: authorizedIds }
  const issuedBefore = session.issued.length
  const token = { ...record, ...authorized, ...(issuedBefore > 0 && { issuedBefore }) }
  const granted = session.token === undefined && { granted: { ...authorized } }
  const refresh = newRefreshToken && { refresh: { ...newRefreshToken.refresh, ...granted } }
  return {
    value: { ...session, token, ...(client && { client }), ...refresh },
    response: {
      access_token: accessToken,
      token_type: token.jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: ACCESS_TOKEN_SECONDS,
      ...(newRefreshToken && { refresh_token: newRefreshToken.refreshToken }),
      ...(scope && { scope }),
      ...(authorizedIds && { authorization_details: makeGrantedDetails(authorizedIds) }),
    },
  }
}
