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
 * `writeAll` writes the items in one transaction and gives their results in order; when it throws, nothing was written,
 * and the items are written one by one so that only the one that cannot be written fails.
 */
export function groupCommit<Item, Result>(writeAll: (items: readonly Item[]) => readonly Result[]) {
  let waiting: Waiting<Item, Result>[] = []

  const flush = (): void => {
    const group = waiting
    waiting = []
    if (settle(group, writeAll) || group.length === 1) return
    for (const one of group) settle([one], writeAll)
  }

  return (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (waiting.push({ item, resolve, reject }) === 1) setImmediate(flush)
    })
}

/** Whether the group is settled. A group of one is settled by its failure, too. */
function settle<Item, Result>(
  group: readonly Waiting<Item, Result>[],
  writeAll: (items: readonly Item[]) => readonly Result[],
): boolean {
  let results: readonly Result[]
  try {
    results = writeAll(group.map(({ item }) => item))
  } catch (error) {
    if (group.length === 1) group[0]?.reject(error)
    return false
  }
  for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
  return true
}
