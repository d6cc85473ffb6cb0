/**
 * Tests whether a service can do its work by a write to its database. Each readiness check writes once a second at
 * most; a service has one for `/health/ready`, one for its overview and, where it has metrics, one for these.
 */
import { cacheValue } from '../async/cache.ts'
import { checkWritable, type GenerationCollections } from '../store/generation.ts'
import { partOf, type Store } from '../store/store.ts'
import type { Effects } from './effects.ts'

const TTL_MS = 1000

/** Returns a function that rejects while the database takes no writes, and writes once a second at most. */
export function createReadinessCheck<C extends GenerationCollections>(
  effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
): () => Promise<void> {
  const store: Store<GenerationCollections> = partOf<C, GenerationCollections>(effects.store)
  return cacheValue(() => checkWritable({ ...effects, store }), { ttlMs: TTL_MS, now: effects.now }).get
}
