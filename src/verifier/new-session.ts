/** Starts verification sessions. */

import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { refuseEndedCertificate } from '../config/certificate-end.ts'
import { makeEventChange } from '../event/event.ts'
import type { MakeAnswerChanges } from '../http/idempotency.ts'
import { makePrivateJwk } from '../keys/private-jwk.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import type { Attempt } from '../store/retry.ts'
import { makeTimeOrderedId } from '../store/time-ordered-id.ts'
import type { VerifierContext } from './context.ts'
import { refuseInvalidOrigin, refuseUndeclaredRetention } from './digital-credentials.ts'
import { requireQuery } from './queries.ts'
import { refuseInvalidRedirectUri } from './redirect.ts'
import { chooseResponseMode } from './response-encryption.ts'
import type { NewVerificationSession, StartedVerificationSession } from './schemas.ts'
import { modeOf, responseUriOf, VERIFIER_PATHS, type VerificationSession } from './session.ts'
import { writeTransactionData } from './transaction-data.ts'

/**
 * Starts a session. Returns the conflicting change if a request with the same idempotency key was first. Refuses with
 * `not_found` an unknown query, and with `invalid_request` members that do not fit the query, and like {@link
 * refuseEndedCertificate}.
 */
export async function startVerificationSession(
  context: VerifierContext,
  request: NewVerificationSession,
  { caller, makeAnswerChanges }: { readonly caller: string; readonly makeAnswerChanges: MakeAnswerChanges },
): Promise<Attempt<StartedVerificationSession>> {
  const { config, clientId, random, store } = context
  refuseEndedCertificate(config.keys, context.now())
  const query = await requireQuery(context, request.verification_query_id)
  const createdAt = context.now().getTime()
  const sessionId = makeTimeOrderedId(createdAt, random(18))
  const value: VerificationSession = {
    queryId: request.verification_query_id,
    createdAt,
    expiresAt: createdAt + (request.expires_in ?? config.requestLifetimeSeconds) * 1000,
    nonce: toBase64url(random(24)),
    state: toBase64url(random(16)),
    clientId,
    ...makeResponseMembers(context, request, query),
    ...makeRequestedMembers(request, query),
  }
  const answer = makeAnswer(context, request, sessionId, value)
  const conflict = await store.commit([
    {
      insert: 'verification_session',
      id: sessionId,
      value,
      dueAt: new Date(value.expiresAt),
      createdAt: new Date(createdAt),
    },
    makeEventChange({ type: 'verification.started', at: createdAt, sessionId, subject: value.queryId, caller }, random),
    ...makeAnswerChanges(answer),
  ])
  return conflict === undefined ? { committed: answer } : { conflict }
}

/** Makes the answer to the application: the ways in which the session takes a response. */
function makeAnswer(
  context: VerifierContext,
  { request_uri_method: method }: NewVerificationSession,
  sessionId: string,
  session: VerificationSession,
): StartedVerificationSession {
  const hasLink = modeOf(session) !== 'dc_api.jwt'
  return {
    session_id: sessionId,
    ...(hasLink ? { request_uri: walletLink(context, sessionId, method) } : {}),
    ...(session.origin === undefined
      ? {}
      : { digital_credentials_uri: responseUriOf(context.config, sessionId, 'dc_api.jwt') }),
  }
}

function walletLink({ config, clientId }: VerifierContext, sessionId: string, method: string | undefined): string {
  const requestUri = `${config.baseUrl}${VERIFIER_PATHS.request}/${sessionId}`
  const link = `haip-vp://?request_uri=${encodeURIComponent(requestUri)}&client_id=${encodeURIComponent(clientId)}`
  return method === undefined ? link : `${link}&request_uri_method=${method}`
}

/**
 * Makes the members of a session for the ways of its response. With encryption, each session has its own key, so that
 * two responses cannot be linked by it. A response through the browser is always encrypted. Refuses with
 * `invalid_request` a session without any way, a method for a link that the session has not, an invalid origin, and a
 * query that does not go with one.
 */
function makeResponseMembers(
  { config, random }: VerifierContext,
  { origin, link = true, request_uri_method: method }: NewVerificationSession,
  query: DcqlQuery,
): Partial<VerificationSession> {
  if (origin !== undefined) {
    refuseInvalidOrigin(origin)
    if (config.profile === 'haip') refuseUndeclaredRetention(query)
  } else if (!link) refuse('invalid_request', 'link: false is for a session with an origin, which has another way')
  if (!link && method !== undefined) {
    refuse('invalid_request', 'request_uri_method stands in the link, which link: false leaves out')
  }
  const responseMode = link ? chooseResponseMode(query, config.profile) : 'dc_api.jwt'
  return {
    ...(responseMode === 'direct_post' ? {} : { responseMode }),
    ...(responseMode === 'direct_post' && origin === undefined ? {} : { encryptionKey: makePrivateJwk(random) }),
    ...(origin === undefined ? {} : { origin }),
  }
}

function makeRequestedMembers(request: NewVerificationSession, query: DcqlQuery): Partial<VerificationSession> {
  const { redirect_uri: redirectUri, transaction_data: transactions } = request
  if (redirectUri !== undefined) refuseInvalidRedirectUri(redirectUri)
  return {
    ...(redirectUri === undefined ? {} : { redirectUri }),
    ...(transactions ? { transactionData: writeTransactionData(transactions as readonly JsonObject[], query) } : {}),
  }
}
