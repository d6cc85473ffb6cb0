/** Reads every row of a collection, some at a time, for work on all of them. */
import { setImmediate } from 'node:timers/promises'
import type { CreatedRow, RowPosition, Store } from './store.ts'

/** The number of rows in memory at once, since a row may be large. */
const ROWS_AT_ONCE = 100

/** Yields the rows of a collection with an order of creation, newest first; other requests run between two reads. */
export async function* readEveryRow<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
): AsyncGenerator<CreatedRow<C[K]>> {
  for (let lastPosition: RowPosition | undefined; ; ) {
    const rows: readonly CreatedRow<C[K]>[] = await store.listNewest(collection, ROWS_AT_ONCE, lastPosition)
    yield* rows
    lastPosition = rows.at(-1)
    if (lastPosition === undefined || rows.length < ROWS_AT_ONCE) return
    await setImmediate()
  }
}
