/** What the issuance service does by itself while it runs. */
import type { Task } from '../store/upkeep.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerEffects } from './issuer.ts'

export function issuerUpkeep(_config: IssuerConfig, { store, now }: IssuerEffects): readonly Task[] {
  const purge = async (): Promise<void> => {
    await store.purge('spent_nonce', now())
  }
  return [{ name: 'purge', everyMs: 60_000, run: purge }]
}
