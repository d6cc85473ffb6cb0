/**
 * Ends the open sessions of a restored backup. An offer that is open in the backup may have been redeemed since, and
 * could be redeemed again. docs/decisions/0010-generations.md.
 */
import type { Effects } from '../http/effects.ts'
import { changeEveryRow } from '../store/every-row.ts'
import { type Change, END_OF_TIME } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import { endTokens } from './issued-tokens.ts'
import { endOfSession, type IssuanceSession, issuanceStatus } from './session.ts'
import { makeSessionEvent } from './session-status.ts'

type VoidingEffects = Pick<Effects<IssuerCollections>, 'store' | 'now' | 'random' | 'retryOnConflict'>

/**
 * Deletes all authorization requests and answers to repeated requests, and ends every open session that was created
 * before `restoredAt`. Returns the number of ended sessions. A session that has issued credentials only loses its
 * access token, and does not count.
 */
export async function voidIssuanceSessions(effects: VoidingEffects, restoredAt: Date): Promise<number> {
  await effects.store.purge('authorization_request', END_OF_TIME)
  await effects.store.purge('idempotent_answer', END_OF_TIME)
  return changeEveryRow(effects.store, 'issuance_session', async ({ id, value, createdAt }) => {
    const isOpen = createdAt <= restoredAt && closeSession(value, effects.now()) !== undefined
    return isOpen && voidSession(effects, id)
  })
}

/** Ends a session, and returns whether it was offered or waited for credentials. */
function voidSession({ store, now, random, retryOnConflict }: VoidingEffects, id: string): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const at = now()
    const row = await store.get('issuance_session', id)
    const session = row && closeSession(row.value, at)
    if (row === undefined || session === undefined) return { committed: false }
    const isEnded = session.expiredAt !== undefined
    const { value, event } = isEnded
      ? makeSessionEvent({ random }, 'issuance.expired', { sessionId: id, session, now: at })
      : { value: session }
    const changes: readonly Change<IssuerCollections>[] = [
      { update: 'issuance_session', id, version: row.version, value, dueAt: new Date(endOfSession(value)) },
      ...(event ? [event] : []),
    ]
    const conflict = await store.commit(changes)
    return conflict === undefined ? { committed: isEnded } : { conflict }
  })
}

/**
 * Returns the session with its offer and its access token ended; undefined if both had ended. A session that has issued
 * credentials can still be refreshed.
 */
function closeSession(session: IssuanceSession, now: Date): IssuanceSession | undefined {
  const at = now.getTime()
  if (session.expiredAt !== undefined || at >= endOfSession(session)) return undefined
  const { token } = session
  if (issuanceStatus(session, now) === 'STARTED') {
    return { ...(token === undefined ? session : endTokens(session, now, 'restore')), expiredAt: at }
  }
  return token === undefined || token.expiresAt <= at ? undefined : { ...session, token: { ...token, expiresAt: at } }
}
