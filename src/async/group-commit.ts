/**
 * Group commit: items that arrive in one turn of the event loop, or while others are being written, are written
 * together.
 */
import { setImmediate } from 'node:timers/promises'

interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

interface GroupCommit<Item, Result> {
  (item: Item): Promise<Result>
  /** Resolves when all items are written. */
  drain(): Promise<void>
  /** Returns the number of queued items whose group has not been started. */
  countWaiting(): number
}

/**
 * Makes a function that queues an item and resolves to its result. `writeAll` writes one group at a time, each in one
 * transaction, and returns the results in the order of the items. When it rejects, nothing of the group was written,
 * and the promise of each item in the group rejects.
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
