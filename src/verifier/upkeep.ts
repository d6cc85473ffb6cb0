/** What the verification service does by itself while it runs. */
import type { Task } from '../store/upkeep.ts'
import type { VerifierConfig } from './config.ts'
import { type HasPendingCallback, sweepSessions } from './retention.ts'
import type { VerifierEffects } from './verifier.ts'

/** Nothing is told to anybody yet. */
const nonePending: HasPendingCallback = () => Promise.resolve(false)

export function verifierUpkeep(
  config: VerifierConfig,
  effects: VerifierEffects,
  hasPendingCallback = nonePending,
): readonly Task[] {
  const { store, now } = effects
  const purge = async (): Promise<void> => {
    await store.purge('idempotent_answer', now())
  }
  return [
    { name: 'sessions', everyMs: 1000, run: () => sweepSessions(config, effects, hasPendingCallback) },
    { name: 'purge', everyMs: 60_000, run: purge },
    { name: 'tidy', everyMs: 60_000, run: async () => store.tidy?.() },
  ]
}
