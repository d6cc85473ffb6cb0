/** The background tasks of the verification service. */
import { singleFlight } from '../async/single-flight.ts'
import type { Task } from '../async/task.ts'
import { hasPendingCallback } from '../callback/queue.ts'
import { passOnEvents } from '../event/pass-on.ts'
import { createEventTasks } from '../event/tasks.ts'
import { createAuditSigner } from '../keys/key-ring.ts'
import { partOf } from '../store/store.ts'
import { createStoredDescriptions } from './check-descriptions.ts'
import type { VerifierConfig } from './config.ts'
import { sweepVerificationSessions } from './retention.ts'
import { findStatusForCallback } from './session-status.ts'
import { createTrustListTask } from './trust-list/refresh.ts'
import type { VerifierEffects } from './verifier.ts'

/** The collections whose rows are deleted when they are due. */
const PURGED_COLLECTIONS = ['idempotent_answer', 'verification_progress'] as const

/** Creates the tasks: ending sessions, purging expired rows, processing events, and fetching lists of other servers. */
export function createVerifierTasks(config: VerifierConfig, effects: VerifierEffects): readonly Task[] {
  const { store, now, statusLists, getCurrentConfig = () => config } = effects
  const readProgress = async (id: string) => (await store.get('verification_progress', id))?.value ?? {}
  const checkDescriptions = createStoredDescriptions(effects)
  const statusContext = { store, now, checkDescriptions, progress: { read: readProgress } }
  const { sessionCallback } = config
  const sweepSessions = (): Promise<void> => {
    // Events are stored before their session is due, so this run queues the callback of every session of the sweep.
    // Sessions of the same round share one run.
    const queueCallbacks = singleFlight(() => passOnEvents({ ...effects, store: partOf(store), hasCallback: true }))
    return sweepVerificationSessions(config, effects, async (sessionId) => {
      // Without a receiver no delivery ends the wait, so nothing is postponed.
      if (sessionCallback === undefined) return false
      await queueCallbacks()
      return hasPendingCallback(store, sessionId)
    })
  }
  const purge = async (): Promise<void> => {
    for (const collection of PURGED_COLLECTIONS) await store.purge(collection, now())
  }
  return [
    { name: 'sessions', everyMs: 1000, needsTrustedClock: true, run: sweepSessions },
    { name: 'purge', everyMs: 60_000, needsTrustedClock: true, run: purge },
    { name: 'tidy', everyMs: 60_000, run: async () => store.tidy?.() },
    { name: 'status-lists', everyMs: 1000, run: statusLists.refreshList },
    ...(config.trustLists.length === 0
      ? []
      : [createTrustListTask(getCurrentConfig, { ...effects, store: partOf(store) })]),
    ...createEventTasks({
      ...effects,
      store: partOf(store),
      sessionCallback,
      signer: createAuditSigner(config.keys, effects.pkcs11Tokens),
      loadCallbackData: (sessionId) => findStatusForCallback(statusContext, sessionId),
    }),
  ]
}
