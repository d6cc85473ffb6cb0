/** Starting a verification session. The link is what a wallet scans; its client_id is kept with the session. */
import { toBase64url } from '../codec/base64url.ts'
import type { VerifierContext } from './context.ts'
import { getQuery } from './queries.ts'
import type { NewSession } from './schemas.ts'
import type { VerificationSession } from './session.ts'

/** Refuses an unknown query with `not_found`. */
export async function startSession(context: VerifierContext, request: NewSession) {
  const { config, clientId, random, store } = context
  await getQuery(context, request.verification_query_id)
  const sessionId = toBase64url(random(24))
  const createdAt = context.now().getTime()
  const value: VerificationSession = {
    queryId: request.verification_query_id,
    createdAt,
    expiresAt: createdAt + (request.expires_in ?? config.requestLifetimeSeconds) * 1000,
    nonce: toBase64url(random(24)),
    state: toBase64url(random(16)),
    clientId,
  }
  await store.commit([{ insert: 'verification_session', id: sessionId, value }])
  const requestUri = `${config.baseUrl}/presentation/oid4vp/authorization-request/${sessionId}`
  const link = `haip-vp://?request_uri=${encodeURIComponent(requestUri)}&client_id=${encodeURIComponent(clientId)}`
  return { session_id: sessionId, request_uri: link }
}
