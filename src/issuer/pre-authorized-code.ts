/**
 * The pre-authorized code: derived from the session id under a secret, so that no database holds one.
 * It begins with the session id, so that the token endpoint without a session in its path finds the session.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

export function preAuthorizedCode(secret: KeyObject, sessionId: string): string {
  return `${sessionId}.${createHmac('sha256', secret).update(sessionId).digest('base64url')}`
}

/** The session a code was made for, or undefined when we did not make it. */
export function sessionOfCode(secret: KeyObject, code: string): string | undefined {
  const sessionId = code.slice(0, Math.max(0, code.lastIndexOf('.')))
  const [ours, claimed] = [Buffer.from(preAuthorizedCode(secret, sessionId)), Buffer.from(code)]
  return ours.length === claimed.length && timingSafeEqual(ours, claimed) ? sessionId : undefined
}
