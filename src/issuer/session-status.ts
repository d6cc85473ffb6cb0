/** The status of an issuance session, for those with an API key. */
import { findSession } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { type IssuanceSession, statusOf } from './session.ts'

/** What the integrating application sees of a session. Refuses with `not_found`. */
export async function getStatus(context: IssuerContext, sessionId: string) {
  return statusBody(sessionId, await findSession(context.store, sessionId), context.now())
}

/** The same, of a session as it is at hand. */
export function statusBody(sessionId: string, session: IssuanceSession, now: Date) {
  return {
    session_id: sessionId,
    status: statusOf(session, now),
    created_at: Math.floor(session.createdAt / 1000),
    expires_at: Math.floor(session.expiresAt / 1000),
    credential_configurations: session.configurationIds,
    credentials: session.issued.map(({ configurationId, issuedAt }) => ({
      credential_configuration_id: configurationId,
      issued_at: Math.floor(issuedAt / 1000),
      // Nothing that this release issues can be revoked or suspended.
      credential_status: 'VALID',
    })),
  }
}
