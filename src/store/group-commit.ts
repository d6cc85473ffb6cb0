/**
 * Group commit: what arrives while the event loop turns once is written together, so that many requests wait for one
 * fsync. Each still learns its own result, and none before its data is on disk.
 */

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Makes a function that collects items and has `writeAll` write them in one transaction. `writeAll` returns in order
 * what became of each; an item that cannot be written leaves the others alone. When `writeAll` throws, nothing was
 * written, and every item is rejected.
 */
export function groupCommit<Item, Result>(
  writeAll: (items: readonly Item[]) => readonly PromiseSettledResult<Result>[],
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []

  const flush = (): void => {
    const group = waiting
    waiting = []
    try {
      const results = writeAll(group.map(({ item }) => item))
      for (const [index, result] of results.entries()) {
        if (result.status === 'fulfilled') group[index]?.resolve(result.value)
        else group[index]?.reject(result.reason)
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ item, resolve, reject }) === 1) setImmediate(flush)
    })
}
