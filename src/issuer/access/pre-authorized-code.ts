/**
 * The pre-authorized code of a session. The code is derived from the session id (`derived-code.ts`), or the application
 * supplies it, because an external authorization server knows it. A supplied code is stored encrypted with the session,
 * and looked up by a MAC.
 */
import type { KeyObject } from 'node:crypto'
import { macOfText } from '../../codec/mac-token.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuanceSession } from '../session.ts'
import type { AccessContext } from './context.ts'
import { findIdOfDerivedCode, makeDerivedCode } from './derived-code.ts'
import { decryptValue, encryptValue } from './encrypted-value.ts'

/** How long a supplied code is stored. It cannot be used again while tokens may still name it. */
const REMEMBERED_MS = 30 * 86_400_000

/** The maximum length of a code that the application supplies. */
export const MAX_CODE = 512

/** Returns the code for the offer of the session; undefined for a supplied code whose encryption secret was removed. */
export function preAuthorizedCodeOf(
  { secrets }: Pick<AccessContext, 'secrets'>,
  sessionId: string,
  { suppliedCode }: IssuanceSession,
): string | undefined {
  if (suppliedCode === undefined) return makeDerivedCode(secrets.preAuthorizedCode, sessionId)
  return decryptValue({ secrets: secrets.suppliedCode, boundTo: sessionId }, suppliedCode)
}

/** Returns the session id for a derived or a supplied code. Only supplied codes are looked up in the database. */
export async function findSessionIdOfPreAuthorizedCode(
  { secrets, store }: Pick<AccessContext, 'secrets' | 'store'>,
  code: string,
): Promise<string | undefined> {
  const sessionId = findIdOfDerivedCode(secrets.preAuthorizedCode, code)
  if (sessionId !== undefined || code.length > MAX_CODE) return sessionId
  for (const secret of secrets.preAuthorizedCode) {
    const row = await store.get('pre_authorized_code', suppliedCodeId(secret, code))
    if (row !== undefined) return row.value.sessionId
  }
  return undefined
}

/**
 * Makes the session member and the changes that store the code of the application; both are empty without a code.
 * Refuses with `invalid_state` a code that was used before.
 */
export function makeSuppliedCodeChanges(
  context: AccessContext,
  code: string | undefined,
  { sessionId, expiresAt }: { readonly sessionId: string; readonly expiresAt: number },
): { readonly members: Pick<IssuanceSession, 'suppliedCode'>; readonly changes: readonly Change<IssuerCollections>[] } {
  if (code === undefined) return { members: {}, changes: [] }
  const { secrets } = context
  // A code that this service made belongs to another session.
  if (findIdOfDerivedCode(secrets.preAuthorizedCode, code) !== undefined) refuseUsedCode()
  const dueAt = new Date(expiresAt + REMEMBERED_MS)
  // Makes one row for each secret, so that a code that was stored with an older secret conflicts.
  const rows = secrets.preAuthorizedCode.map(
    (secret) =>
      ({ insert: 'pre_authorized_code', id: suppliedCodeId(secret, code), value: { sessionId }, dueAt }) as const,
  )
  const encryptedCode = encryptValue({ secrets: secrets.suppliedCode, boundTo: sessionId }, code, context)
  return { members: { suppliedCode: encryptedCode }, changes: rows }
}

export function refuseUsedCode(): never {
  return refuse('invalid_state', 'pre-authorized_code: it has been used for another session; bring a new one')
}

/** Returns the id of the row of a supplied code. */
function suppliedCodeId(secret: KeyObject, code: string): string {
  return macOfText(secret, `supplied ${code}`)
}
