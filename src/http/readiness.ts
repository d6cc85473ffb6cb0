/** Whether a service can do its work: it writes to its database to find out, once a second at most, however often it is asked. */
import { kept } from '../memory/kept.ts'
import { checkWritable, type GenerationCollections } from '../store/generation.ts'
import { partOf, type Store } from '../store/store.ts'
import type { Effects } from './effects.ts'

const KEPT_MS = 1000

/** The function that rejects while the database takes nothing. */
export function readiness<C extends GenerationCollections>(
  effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
): () => Promise<void> {
  const store: Store<GenerationCollections> = partOf<C, GenerationCollections>(effects.store)
  const writable = kept(KEPT_MS, effects.now, () => checkWritable({ ...effects, store }))
  return () => writable.get()
}
