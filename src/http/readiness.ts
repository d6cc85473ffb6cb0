/**
 * Checks readiness: that the service has no problem of its own, and by a write to the database, at most once a second
 * for each check. A service has one check each for
 * `/health/ready`, its overview and its metrics.
 */
import { cacheValue } from '../async/cache.ts'
import { refuse } from '../protocol/error.ts'
import { checkWritable, type GenerationCollections } from '../store/generation.ts'
import { partOf, type Store } from '../store/store.ts'
import type { Effects } from './effects.ts'

const TTL_MS = 1000

/** Returns what keeps the service from its work, other than the database; undefined if nothing does. */
export type FindProblem = () => string | undefined

/**
 * Creates the function that rejects if the service has a problem, with `temporarily_unavailable`, or if the database
 * cannot be written.
 */
export function createReadinessCheck<C extends GenerationCollections>(
  effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
  findProblem: FindProblem = () => undefined,
): () => Promise<void> {
  const store: Store<GenerationCollections> = partOf<C, GenerationCollections>(effects.store)
  const check = async (): Promise<void> => {
    const problem = findProblem()
    if (problem !== undefined) refuse('temporarily_unavailable', problem)
    await checkWritable({ ...effects, store })
  }
  return cacheValue(check, { ttlMs: TTL_MS, now: effects.now }).get
}
