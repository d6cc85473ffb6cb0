/**
 * Redeems an authorization code. The client, the redirect URI and the keys must match the authorization request. A code
 * that is used twice may have been stolen, so its tokens are ended. RFC 6749 section 4.1, RFC 7636 section 4.6, RFC
 * 9700 section 4.5.
 */
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import { refuse } from '../../protocol/error.ts'
import type { Row } from '../../store/store.ts'
import { refuseOtherInstance } from '../access/client-attestation.ts'
import { findIdOfDerivedCode } from '../access/derived-code.ts'
import { type CodeFlowRequest, makeRequestUpdate, type StoredAuthorizationRequest } from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { endTokens } from '../issued-tokens.ts'
import { type IssuanceSession, refuseUnlessUnused } from '../session.ts'
import { type Grant, type GrantDecision, refuseOtherClient, refuseOtherKey, type SessionForToken } from './grant.ts'
import { makeFirstRefreshToken } from './refresh-token.ts'
import type { TokenRequest } from './schemas.ts'

type RequestRow = Row<StoredAuthorizationRequest> & { readonly id: string }

/** The form of a code_verifier. RFC 7636 section 4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/
const UNKNOWN_CODE = 'the authorization code is unknown or has expired; begin anew with an authorization request'
const REPLAYED_CODE = 'the authorization code has been used, and its tokens are no longer valid; begin anew'

/** Returns the grant for an authorization code. Refuses with `invalid_request` a missing parameter. */
export async function findAuthorizationCodeGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  for (const name of ['code', 'redirect_uri'] as const) {
    if (!form[name]) refuse('invalid_request', `${name} is missing`)
  }
  const id = findIdOfDerivedCode(context.secrets.authorizationCode, form.code ?? '')
  const row = id === undefined ? undefined : await context.store.get('authorization_request', id)
  const sessionId = row === undefined ? undefined : sessionIdOfStep(row.value)
  return {
    sessionId,
    unknownDescription: UNKNOWN_CODE,
    decide: (tokenRequest) => decide(context, { id: id ?? '', form }, tokenRequest),
  }
}

/** Decides on the authorization request as it is stored now. */
async function decide(
  context: IssuerContext,
  { id, form }: { readonly id: string; readonly form: TokenRequest },
  tokenRequest: SessionForToken,
): Promise<GrantDecision> {
  const row = await context.store.get('authorization_request', id)
  if (row === undefined) return refuseCode()
  const { request, step } = row.value
  if (step.name === 'REDEEMED') return endReplayedTokens(tokenRequest)
  if (step.name !== 'CODE' || tokenRequest.now.getTime() >= step.until) return refuseCode()
  refuseOtherRequest(request, form, tokenRequest.client)
  const client = { id: request.clientId, ...(request.instance && { instance: request.instance }) }
  refuseOtherInstance('authorization code', client, tokenRequest.client)
  refuseOtherKey('authorization code', request.jkt, tokenRequest.jkt)
  const { session } = tokenRequest
  refuseUnlessUnused(session, tokenRequest.now, 'invalid_grant')
  const { requestId: decidedFor } = session.deferral?.decided ?? {}
  if (decidedFor !== undefined && decidedFor !== id) refuse('invalid_grant', 'the credential is for another person')
  return {
    session,
    newRefreshToken: makeFirstRefreshToken(context, tokenRequest.sessionId, session, tokenRequest.now),
    client: { id: request.clientId },
    authorizedIds: authorizedIdsOf(request, session),
    scope: request.scope,
    otherChanges: [redeemRequest({ id, ...row }, tokenRequest)],
  }
}

/** Ends the tokens of a code that was used twice. */
function endReplayedTokens({ session, now }: SessionForToken): GrantDecision {
  return session.token === undefined
    ? refuseCode()
    : { session: endTokens(session, now, 'reuse'), refusal: REPLAYED_CODE }
}

function redeemRequest(row: RequestRow, { sessionId, now }: SessionForToken) {
  return makeRequestUpdate(row, { ...row.value, step: { name: 'REDEEMED', sessionId } }, now)
}

function refuseOtherRequest(request: CodeFlowRequest, form: TokenRequest, client: SessionForToken['client']): void {
  // RFC 6749 section 4.1.3: client_id is optional for an authenticated client.
  refuseOtherClient('authorization code', request.clientId, form.client_id || client?.id)
  if (form.redirect_uri !== request.redirectUri) {
    refuse('invalid_grant', 'redirect_uri: it is not that of the authorization request')
  }
  const codeVerifier = form.code_verifier ?? ''
  // RFC 7636 section 4.6: a missing code_verifier is refused like a wrong one.
  if (!codeVerifier) refuse('invalid_grant', 'code_verifier is missing')
  if (!CODE_VERIFIER.test(codeVerifier))
    refuse('invalid_request', 'code_verifier: it needs 43 to 128 unreserved characters')
  if (!isSameSecret(digestOf(codeVerifier), request.codeChallenge)) {
    refuse('invalid_grant', 'code_verifier: it is not that of code_challenge')
  }
}

/**
 * Returns the configurations that the token is restricted to: those in authorization details, or in a request that does
 * not ask for all of the offer; otherwise undefined.
 */
function authorizedIdsOf(
  { configurationIds, hasDetails }: CodeFlowRequest,
  session: IssuanceSession,
): readonly string[] | undefined {
  const isAll = session.configurationIds.every((id) => configurationIds.includes(id))
  return hasDetails || !isAll ? configurationIds : undefined
}

function sessionIdOfStep({ step }: StoredAuthorizationRequest): string | undefined {
  return step.name === 'CODE' || step.name === 'REDEEMED' ? step.sessionId : undefined
}

function refuseCode(): never {
  return refuse('invalid_grant', UNKNOWN_CODE)
}
