/** Reads every row of a collection in pages, but for those that cannot be read. */
import { setImmediate } from 'node:timers/promises'
import type { CreatedRow, RowPosition, Store } from './store.ts'
import { separateUnreadable } from './unreadable-rows.ts'

/** The number of rows in memory at once, since a row may be large. */
const ROWS_AT_ONCE = 100

/**
 * Yields the rows of a collection that has an order of creation, newest first, but for those that cannot be read. Other
 * requests run between two pages.
 */
export async function* readEveryRow<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
): AsyncGenerator<CreatedRow<C[K]>> {
  for await (const rows of readPages(store, collection)) yield* rows
}

/**
 * Changes the rows of a collection that has an order of creation, newest first, but for those that cannot be read.
 * `changeRow` runs for many rows at once, so that their commits share transactions. Returns for how many it resolved to
 * true; rejects when one rejects.
 */
export async function changeEveryRow<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
  changeRow: (row: CreatedRow<C[K]>) => Promise<boolean>,
): Promise<number> {
  let changedCount = 0
  for await (const rows of readPages(store, collection)) {
    const results = await Promise.all(rows.map(changeRow))
    changedCount += results.filter((isChanged) => isChanged).length
  }
  return changedCount
}

async function* readPages<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
): AsyncGenerator<readonly CreatedRow<C[K]>[]> {
  for (let lastPosition: RowPosition | undefined; ; ) {
    const rows: readonly CreatedRow<C[K]>[] = await store.listNewest(collection, ROWS_AT_ONCE, lastPosition)
    yield separateUnreadable(rows).rows
    lastPosition = rows.at(-1)
    if (lastPosition === undefined || rows.length < ROWS_AT_ONCE) return
    await setImmediate()
  }
}
