/** The background tasks of the issuance service. */

import type { Task } from '../async/task.ts'
import { createEventTasks } from '../event/tasks.ts'
import { createAuditSigner } from '../keys/key-ring.ts'
import { partOf } from '../store/store.ts'
import { purgeSpent } from '../store/sweep.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerEffects } from './issuer.ts'
import { sweepIssuanceSessions } from './retention.ts'
import { addNotificationTexts, addProgress } from './session-status.ts'

/** The collections whose rows are deleted when they are due. */
const PURGED_COLLECTIONS = [
  'pre_authorized_code',
  'authorization_request',
  'idempotent_answer',
  'deferred_transaction',
  'issuance_progress',
] as const

/** Creates the tasks: ending sessions, purging expired rows, and processing events. */
export function createIssuerTasks(config: IssuerConfig, effects: IssuerEffects): readonly Task[] {
  const { store, now } = effects
  const purge = async (): Promise<void> => {
    for (const collection of PURGED_COLLECTIONS) await store.purge(collection, now())
    await purgeSpent(store, 'spent_nonce', now())
  }
  return [
    { name: 'sessions', everyMs: 1000, needsTrustedClock: true, run: () => sweepIssuanceSessions(config, effects) },
    { name: 'purge', everyMs: 60_000, needsTrustedClock: true, run: purge },
    { name: 'tidy', everyMs: 60_000, run: async () => store.tidy?.() },
    ...createEventTasks({
      ...effects,
      store: partOf(store),
      sessionCallback: config.sessionCallback,
      signer: createAuditSigner(config.keys, effects.pkcs11Tokens),
      // An event keeps the status at its time, since the status changes later.
      loadCallbackData: async (sessionId, eventStatus) => {
        const session = await store.get('issuance_session', sessionId)
        if (eventStatus === undefined || session === undefined) return eventStatus
        const progress = await store.get('issuance_progress', sessionId)
        return addProgress(addNotificationTexts(eventStatus, session.value), progress?.value ?? {})
      },
    }),
  ]
}
