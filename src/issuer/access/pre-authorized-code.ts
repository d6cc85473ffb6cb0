/**
 * The pre-authorized code: derived from the session id under a secret, so that no database holds one. The code begins
 * with the session id, so that the token endpoint without a session in its path finds the session. A code that the
 * application supplied, because an authorization server knows it already, is kept encrypted with its session, for the
 * offer, and found by a MAC.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { isSameSecret } from '../../codec/digest.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuanceSession } from '../session.ts'
import type { AccessContext } from './context.ts'
import { decryptValue, encryptValue } from './encrypted-value.ts'

/** The time for which a code is remembered, so that it does not come again while there may be tokens that name it. */
const REMEMBERED_MS = 30 * 86_400_000

/** The most characters of a code that the application brings. */
export const MAX_CODE = 512

/**
 * Makes the pre-authorized code of a session under the secrets of codes, and its issuer_state under those of
 * issuer_state.
 */
export function makeSessionCode([secret]: Secrets, sessionId: string): string {
  return deriveCode(secret, sessionId)
}

function deriveCode(secret: KeyObject, sessionId: string): string {
  return `${sessionId}.${createHmac('sha256', secret).update(sessionId).digest('base64url')}`
}

/**
 * Returns the code of the session's offer; undefined when it was supplied, and encrypted with a secret that is no
 * longer there.
 */
export function codeOfSession(
  { secrets }: Pick<AccessContext, 'secrets'>,
  sessionId: string,
  { suppliedCode }: IssuanceSession,
): string | undefined {
  if (suppliedCode === undefined) return makeSessionCode(secrets.code, sessionId)
  return decryptValue({ secrets: secrets.suppliedCode, purpose: sessionId }, suppliedCode)
}

/**
 * Returns the session of a code, whether we made it or the application supplied it. Only the latter has to be looked
 * up.
 */
export async function findSessionOfAnyCode(
  { secrets, store }: Pick<AccessContext, 'secrets' | 'store'>,
  code: string,
): Promise<string | undefined> {
  const sessionId = sessionOfCode(secrets.code, code)
  if (sessionId !== undefined || code.length > MAX_CODE) return sessionId
  for (const secret of secrets.code) {
    const row = await store.get('pre_authorized_code', suppliedCodeId(secret, code))
    if (row !== undefined) return row.value.sessionId
  }
  return undefined
}

/**
 * Makes the member and the changes by which a code of the application is kept and found; both are empty without a code.
 * Refuses with `invalid_state` a code that was used before.
 */
export function makeSuppliedCodeChanges(
  context: AccessContext,
  code: string | undefined,
  { sessionId, expiresAt }: { readonly sessionId: string; readonly expiresAt: number },
): { readonly members: Pick<IssuanceSession, 'suppliedCode'>; readonly changes: readonly Change<IssuerCollections>[] } {
  if (code === undefined) return { members: {}, changes: [] }
  const { secrets } = context
  // A code that this service made is the code of another session.
  if (sessionOfCode(secrets.code, code) !== undefined) refuseUsedCode()
  const dueAt = new Date(expiresAt + REMEMBERED_MS)
  // Under each generation, so that a code that was used under an older one is noticed.
  const rows = secrets.code.map(
    (secret) =>
      ({ insert: 'pre_authorized_code', id: suppliedCodeId(secret, code), value: { sessionId }, dueAt }) as const,
  )
  const encryptedCode = encryptValue({ secrets: secrets.suppliedCode, purpose: sessionId }, code, context)
  return { members: { suppliedCode: encryptedCode }, changes: rows }
}

export function refuseUsedCode(): never {
  return refuse('invalid_state', 'pre-authorized_code: it has been used for another session; bring a new one')
}

/** Returns the session that a code or an issuer_state was made for, or undefined when it was not made here. */
export function sessionOfCode(secrets: Secrets, code: string): string | undefined {
  const sessionId = code.slice(0, Math.max(0, code.lastIndexOf('.')))
  return secrets.some((secret) => isSameSecret(deriveCode(secret, sessionId), code)) ? sessionId : undefined
}

/** Returns the id under which the session of the code is found. */
function suppliedCodeId(secret: KeyObject, code: string): string {
  return createHmac('sha256', secret).update(`supplied ${code}`).digest('base64url')
}
