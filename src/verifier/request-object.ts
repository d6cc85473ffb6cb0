/** The signed request object that a wallet fetches. OpenID4VP 1.0, Authorization Request; RFC 9101. */
import type { Json, JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { presentationFormats } from '../credential/formats.ts'
import { refuse } from '../protocol/error.ts'
import { STATIC_AUDIENCE } from '../protocol/oid4vp.ts'
import { findSession } from './collections.ts'
import type { VerifierContext } from './context.ts'
import { getQuery } from './queries.ts'
import { refuseUnlessOpen, type VerificationSession } from './session.ts'

const FORMATS = presentationFormats()

/** The request object, with the same payload at every call until the session is over. Refuses with `not_found` or `gone`. */
export async function getRequestObject(context: VerifierContext, sessionId: string): Promise<string> {
  const { signer, clientId } = context
  const { value: session } = await findSession(context.store, sessionId)
  if (session.outcome !== undefined) refuse('gone', 'this session has had its response')
  refuseUnlessOpen(session, context.now())
  if (session.clientId !== clientId) refuse('gone', 'the certificate of this verifier has changed; start a new session')
  const query = await getQuery(context, session.queryId)
  const header = { typ: 'oauth-authz-req+jwt', alg: signer.alg, x5c: [...signer.x5c] }
  const payload = payloadOf(context, sessionId, session, query as unknown as Json)
  return writeJws(header, payload, (data) => signer.sign(data))
}

/** Where the wallet of a session sends its response. */
export function responseUriOf({ baseUrl }: VerifierContext['config'], sessionId: string): string {
  return `${baseUrl}/presentation/oid4vp/authorization-response/${sessionId}`
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
    response_uri: responseUriOf(config, sessionId),
    client_id: session.clientId,
    nonce: session.nonce,
    state: session.state,
    aud: STATIC_AUDIENCE,
    iat: Math.floor(session.createdAt / 1000),
    exp: Math.floor(session.expiresAt / 1000),
    dcql_query: dcqlQuery,
    client_metadata: { ...config.clientMetadata, vp_formats_supported: FORMATS },
  }
}
