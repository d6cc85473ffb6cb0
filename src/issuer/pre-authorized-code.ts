/**
 * The pre-authorized code: derived from the session id under a secret, so that no database holds one.
 * It begins with the session id, so that the token endpoint without a session in its path finds the session.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IssuerContext } from './context.ts'
import type { IssuanceSession } from './session.ts'
import { openCode, suppliedCodeId } from './supplied-code.ts'

/** Characters of one that is supplied. */
export const MAX_CODE = 512

export function preAuthorizedCode(secret: KeyObject, sessionId: string): string {
  return `${sessionId}.${createHmac('sha256', secret).update(sessionId).digest('base64url')}`
}

/** The code of the session's offer; undefined when it was supplied, and sealed under another signing key. */
export function codeOfSession(
  { secrets }: IssuerContext,
  sessionId: string,
  { suppliedCode }: IssuanceSession,
): string | undefined {
  if (suppliedCode === undefined) return preAuthorizedCode(secrets.code, sessionId)
  return openCode(secrets.suppliedCode, sessionId, suppliedCode)
}

/** The session of a code, whether we made it or the application supplied it. Only the latter has to be looked up. */
export async function sessionOfAnyCode({ secrets, store }: IssuerContext, code: string): Promise<string | undefined> {
  const made = sessionOfCode(secrets.code, code)
  if (made !== undefined || code.length > MAX_CODE) return made
  return (await store.get('pre_authorized_code', suppliedCodeId(secrets.code, code)))?.value.sessionId
}

/** The session a code was made for, or undefined when we did not make it. */
export function sessionOfCode(secret: KeyObject, code: string): string | undefined {
  const sessionId = code.slice(0, Math.max(0, code.lastIndexOf('.')))
  const [ours, claimed] = [Buffer.from(preAuthorizedCode(secret, sessionId)), Buffer.from(code)]
  return ours.length === claimed.length && timingSafeEqual(ours, claimed) ? sessionId : undefined
}
