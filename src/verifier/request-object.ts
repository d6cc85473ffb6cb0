/** Starting a session, and the signed request object that a wallet fetches. OpenID4VP 1.0, Authorization Request; RFC 9101. */
import { toBase64url } from '../codec/base64url.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { presentationFormats } from '../credential/formats.ts'
import { sentChain } from '../keys/sent-chain.ts'
import { refuse } from '../protocol/error.ts'
import type { VerifierContext } from './context.ts'
import { getQuery } from './queries.ts'
import { refuseUnlessOpen, statusOf, type VerificationSession } from './session.ts'

export interface NewSession {
  readonly verification_query_id: string
  readonly expires_in?: number
}

/** For wallets whose metadata a verifier does not know beforehand. OpenID4VP 1.0, Aud of a Request Object. */
const STATIC_AUDIENCE = 'https://self-issued.me/v2'

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

/** The request object, the same at every call until the session is over. Refuses with `not_found` or `gone`. */
export async function getRequestObject(context: VerifierContext, sessionId: string): Promise<string> {
  const { signer, clientId } = context
  const session = await findSession(context, sessionId)
  if (session.outcome !== undefined) refuse('gone', 'this session has had its response')
  refuseUnlessOpen(session, context.now())
  if (session.clientId !== clientId) refuse('gone', 'the certificate of this verifier has changed; start a new session')
  const query = await getQuery(context, session.queryId)
  const header = { typ: 'oauth-authz-req+jwt', alg: signer.alg, x5c: sentChain(signer.chain) }
  const payload = payloadOf(context, sessionId, session, query as unknown as Json)
  return writeJws(header, payload, (data) => signer.sign(data))
}

/** What the integrating application sees of a session. Refuses with `not_found`. */
export async function getStatus(context: VerifierContext, sessionId: string) {
  const session = await findSession(context, sessionId)
  const { outcome } = session
  return {
    session_id: sessionId,
    status: statusOf(session, context.now()),
    verification_query_id: session.queryId,
    created_at: Math.floor(session.createdAt / 1000),
    expires_at: Math.floor(session.expiresAt / 1000),
    ...(outcome && 'report' in outcome ? { result: outcome.report } : {}),
    ...(outcome && 'walletError' in outcome ? { wallet_error: outcome.walletError } : {}),
  }
}

export async function findSession({ store }: VerifierContext, sessionId: string): Promise<VerificationSession> {
  const row = await store.get('verification_session', sessionId)
  return row?.value ?? refuse('not_found', 'there is no such session')
}

function payloadOf(
  { config }: VerifierContext,
  sessionId: string,
  session: VerificationSession,
  dcqlQuery: Json,
): JsonObject {
  return {
    response_type: 'vp_token',
    response_mode: 'direct_post',
    response_uri: `${config.baseUrl}/presentation/oid4vp/authorization-response/${sessionId}`,
    client_id: session.clientId,
    nonce: session.nonce,
    state: session.state,
    aud: STATIC_AUDIENCE,
    iat: Math.floor(session.createdAt / 1000),
    exp: Math.floor(session.expiresAt / 1000),
    dcql_query: dcqlQuery,
    client_metadata: { ...config.clientMetadata, vp_formats_supported: presentationFormats() },
  }
}
