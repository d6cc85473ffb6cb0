/** Starts verification sessions. */

import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { refuseEndedCertificate } from '../config/certificate-end.ts'
import { recordEvent } from '../event/event.ts'
import type { RememberAnswer } from '../http/idempotency.ts'
import { makePrivateJwk } from '../keys/private-jwk.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import type { Attempt } from '../store/retry.ts'
import { makeTimeOrderedId } from '../store/time-ordered-id.ts'
import type { VerifierContext } from './context.ts'
import { getQuery } from './queries.ts'
import { refuseInvalidRedirectUri } from './redirect.ts'
import { chooseResponseMode } from './response-encryption.ts'
import type { NewVerificationSession, StartedVerificationSession } from './schemas.ts'
import type { VerificationSession } from './session.ts'
import { VERIFIER_PATHS } from './session.ts'
import { writeTransactionData } from './transaction-data.ts'

/**
 * Starts a session. Returns the conflicting change if a request with the same idempotency key was first. Refuses with
 * `not_found` an unknown query, and with `invalid_request` members that do not fit the query, and like {@link
 * refuseEndedCertificate}.
 */
export async function startVerificationSession(
  context: VerifierContext,
  request: NewVerificationSession,
  { caller, remember }: { readonly caller: string; readonly remember: RememberAnswer },
): Promise<Attempt<StartedVerificationSession>> {
  const { config, clientId, random, store } = context
  refuseEndedCertificate(config.keys, context.now())
  const query = await getQuery(context, request.verification_query_id)
  const createdAt = context.now().getTime()
  const sessionId = makeTimeOrderedId(createdAt, random(18))
  const value: VerificationSession = {
    queryId: request.verification_query_id,
    createdAt,
    expiresAt: createdAt + (request.expires_in ?? config.requestLifetimeSeconds) * 1000,
    nonce: toBase64url(random(24)),
    state: toBase64url(random(16)),
    clientId,
    ...makeResponseMembers(context, query),
    ...makeRequestedMembers(request, query),
  }
  const answer = { session_id: sessionId, request_uri: walletLink(context, sessionId, request.request_uri_method) }
  const conflict = await store.commit([
    {
      insert: 'verification_session',
      id: sessionId,
      value,
      dueAt: new Date(value.expiresAt),
      createdAt: new Date(createdAt),
    },
    recordEvent({ type: 'verification.started', at: createdAt, sessionId, subject: value.queryId, caller }, random),
    ...remember(answer),
  ])
  return conflict === undefined ? { committed: answer } : { conflict }
}

function walletLink({ config, clientId }: VerifierContext, sessionId: string, method: string | undefined): string {
  const requestUri = `${config.baseUrl}${VERIFIER_PATHS.request}/${sessionId}`
  const link = `haip-vp://?request_uri=${encodeURIComponent(requestUri)}&client_id=${encodeURIComponent(clientId)}`
  return method === undefined ? link : `${link}&request_uri_method=${method}`
}

/**
 * Makes the members of a session for its response mode. With encryption, each session has its own key, so that two
 * responses cannot be linked by it.
 */
function makeResponseMembers({ config, random }: VerifierContext, query: DcqlQuery): Partial<VerificationSession> {
  const responseMode = chooseResponseMode(query, config.profile)
  return responseMode === 'direct_post' ? {} : { responseMode, encryptionKey: makePrivateJwk(random) }
}

function makeRequestedMembers(request: NewVerificationSession, query: DcqlQuery): Partial<VerificationSession> {
  const { redirect_uri: redirectUri, transaction_data: transactions } = request
  if (redirectUri !== undefined) refuseInvalidRedirectUri(redirectUri)
  return {
    ...(redirectUri === undefined ? {} : { redirectUri }),
    ...(transactions ? { transactionData: writeTransactionData(transactions as readonly JsonObject[], query) } : {}),
  }
}
