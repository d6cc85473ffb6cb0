/** What the verification service does by itself while it runs. */
import type { Task } from '../store/upkeep.ts'
import type { VerifierConfig } from './config.ts'
import type { VerifierEffects } from './verifier.ts'

export function verifierUpkeep(_: VerifierConfig, { store, now }: VerifierEffects): readonly Task[] {
  const purge = async (): Promise<void> => {
    await store.purge('idempotent_answer', now())
  }
  return [{ name: 'purge', everyMs: 60_000, run: purge }]
}
