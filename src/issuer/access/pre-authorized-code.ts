/**
 * The pre-authorized code of a session: derived from the session id (`derived-code.ts`), or supplied by the application
 * because an authorization server knows it already. A supplied code is kept encrypted with its session, for the offer,
 * and found by a MAC.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuanceSession } from '../session.ts'
import type { AccessContext } from './context.ts'
import { findIdOfDerivedCode, makeDerivedCode } from './derived-code.ts'
import { decryptValue, encryptValue } from './encrypted-value.ts'

/** The time for which a code is remembered, so that it does not come again while there may be tokens that name it. */
const REMEMBERED_MS = 30 * 86_400_000

/** The most characters of a code that the application brings. */
export const MAX_CODE = 512

/**
 * Returns the code of the session's offer; undefined when it was supplied, and encrypted with a secret that is no
 * longer there.
 */
export function codeOfSession(
  { secrets }: Pick<AccessContext, 'secrets'>,
  sessionId: string,
  { suppliedCode }: IssuanceSession,
): string | undefined {
  if (suppliedCode === undefined) return makeDerivedCode(secrets.code, sessionId)
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
  const sessionId = findIdOfDerivedCode(secrets.code, code)
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
  if (findIdOfDerivedCode(secrets.code, code) !== undefined) refuseUsedCode()
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

/** Returns the id under which the session of the code is found. */
function suppliedCodeId(secret: KeyObject, code: string): string {
  return createHmac('sha256', secret).update(`supplied ${code}`).digest('base64url')
}
