/**
 * Group commit: items that arrive in one turn of the event loop, or while others are written, are written together, so
 * that many requests wait for one fsync. Each still gets its own result, and none before its data is on disk.
 */
import { setImmediate } from 'node:timers/promises'

interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommit<Item, Result> {
  (item: Item): Promise<Result>
  /** Resolves when all items are written. */
  drain(): Promise<void>
  /** Counts the items that are in no group yet. */
  countWaiting(): number
}

/**
 * Makes a function that collects items and has `writeAll` write them in one transaction, one group after another.
 * `writeAll` returns the result of each in order; when it rejects, nothing was written, and every item is rejected.
 */
export function groupCommit<Item, Result>(
  writeAll: (items: readonly Item[]) => Promise<readonly Result[]>,
): GroupCommit<Item, Result> {
  let queue: QueuedItem<Item, Result>[] = []
  /** Resolves when all groups are written; undefined while no item is queued. */
  let writing: Promise<void> | undefined

  const writeGroup = async (): Promise<void> => {
    await setImmediate()
    const group = queue
    queue = []
    try {
      const results = await writeAll(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  const writeGroups = async (): Promise<void> => {
    while (queue.length > 0) await writeGroup()
    writing = undefined
  }
  const commit = (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      writing ??= writeGroups()
    })
  return Object.assign(commit, { drain: async () => writing, countWaiting: () => queue.length })
}
