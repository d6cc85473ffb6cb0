/**
 * Checks readiness by a write to the database, at most once a second for each check. A service has one check each for
 * `/health/ready`, its overview and its metrics.
 */
import { cacheValue } from '../async/cache.ts'
import { checkWritable, type GenerationCollections } from '../store/generation.ts'
import { partOf, type Store } from '../store/store.ts'
import type { Effects } from './effects.ts'

const TTL_MS = 1000

/** Creates the function that rejects if the database cannot be written. */
export function createReadinessCheck<C extends GenerationCollections>(
  effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
): () => Promise<void> {
  const store: Store<GenerationCollections> = partOf<C, GenerationCollections>(effects.store)
  return cacheValue(() => checkWritable({ ...effects, store }), { ttlMs: TTL_MS, now: effects.now }).get
}
