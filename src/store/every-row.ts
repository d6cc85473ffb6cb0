/** Every row of a collection, some at a time, for work that is done once on all of them. */
import { setImmediate } from 'node:timers/promises'
import type { CreatedRow, RowPosition, Store } from './store.ts'

/** The number of rows in memory at once, since a row may be large. */
const ROWS_AT_ONCE = 100

/** Gives the rows of a collection that has an order of creation, newest first. Other work goes on between two reads. */
export async function* everyRow<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
): AsyncGenerator<CreatedRow<C[K]>> {
  for (let last: RowPosition | undefined; ; ) {
    const rows: readonly CreatedRow<C[K]>[] = await store.newest(collection, ROWS_AT_ONCE, last)
    yield* rows
    last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return
    await setImmediate()
  }
}
