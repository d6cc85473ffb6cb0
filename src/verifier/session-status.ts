/** The status of a verification session with its report, for those with an API key. */
import { findSession } from './collections.ts'
import type { VerifierContext } from './context.ts'
import { statusOf } from './session.ts'

/** What the integrating application sees of a session. Refuses with `not_found`. */
export async function getStatus(context: VerifierContext, sessionId: string) {
  const { value: session } = await findSession(context.store, sessionId)
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
