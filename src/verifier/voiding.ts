/**
 * Ends the open sessions of a restored backup. A session that is open in the backup may have had its response since,
 * and would accept it again. docs/decisions/0010-generations.md.
 */
import type { Effects } from '../http/effects.ts'
import { changeEveryRow } from '../store/every-row.ts'
import { END_OF_TIME } from '../store/store.ts'
import type { VerifierCollections } from './collections.ts'
import { makeEndEvent, verificationStatus } from './session.ts'

type VoidingEffects = Pick<Effects<VerifierCollections>, 'store' | 'now' | 'random' | 'retryOnConflict'>

/**
 * Deletes the answers to repeated requests, and ends every open session that was created before `restoredAt`. Returns
 * the number of ended sessions.
 */
export async function voidVerificationSessions(effects: VoidingEffects, restoredAt: Date): Promise<number> {
  await effects.store.purge('idempotent_answer', END_OF_TIME)
  return changeEveryRow(effects.store, 'verification_session', async ({ id, value, createdAt }) => {
    const isOpen = createdAt <= restoredAt && verificationStatus(value, effects.now()) === 'STARTED'
    return isOpen && voidSession(effects, id)
  })
}

function voidSession({ store, now, random, retryOnConflict }: VoidingEffects, id: string): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const at = now()
    const row = await store.get('verification_session', id)
    if (row === undefined || verificationStatus(row.value, at) !== 'STARTED') return { committed: false }
    const { value, version } = row
    const endedSession = { ...value, encryptionKey: undefined, expiredAt: at.getTime() }
    const conflict = await store.commit([
      { update: 'verification_session', id, version, value: endedSession, dueAt: at, erases: true },
      makeEndEvent({ random }, { sessionId: id, session: endedSession, now: at }),
    ])
    return conflict === undefined ? { committed: true } : { conflict }
  })
}
