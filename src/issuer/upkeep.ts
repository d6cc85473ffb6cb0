/** What the issuance service does by itself while it runs. */
import type { Task } from '../store/upkeep.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerEffects } from './issuer.ts'

export function issuerUpkeep(_config: IssuerConfig, { store, now }: IssuerEffects): readonly Task[] {
  const purge = async (): Promise<void> => {
    for (const collection of ['spent_nonce', 'idempotent_answer'] as const) await store.purge(collection, now())
  }
  return [{ name: 'purge', everyMs: 60_000, run: purge }]
}
