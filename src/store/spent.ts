/** Purges the rows that record that a value was used up, such as a nonce. */
import type { Store } from './store.ts'

/** A time longer than any request runs, and than the clocks of two processes differ. */
const MARGIN_MS = 10 * 60_000

/**
 * Deletes rows that say that something was used up, ten minutes after they are due: a request that came before may
 * still be about to spend the same, and the row is what refuses the request.
 */
export async function purgeSpent<C>(
  store: Pick<Store<C>, 'purge'>,
  collection: keyof C & string,
  now: Date,
): Promise<void> {
  await store.purge(collection, new Date(now.getTime() - MARGIN_MS))
}
