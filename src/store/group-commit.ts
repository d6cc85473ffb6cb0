/**
 * Group commit: what arrives while the event loop turns once, or while others are written, is written together, so that
 * many requests wait for one fsync. Each still learns its own result, and none before its data is on disk.
 */
import { setImmediate } from 'node:timers/promises'

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommit<Item, Result> {
  (item: Item): Promise<Result>
  /** Resolves when nothing waits any more. */
  settled(): Promise<void>
  /** Counts the items that are in no group yet. */
  waiting(): number
}

/**
 * Makes a function that collects items and has `writeAll` write them in one transaction, one group after another.
 * `writeAll` returns the result of each in order; when it rejects, nothing was written, and every item is rejected.
 */
export function groupCommit<Item, Result>(
  writeAll: (items: readonly Item[]) => Promise<readonly Result[]>,
): GroupCommit<Item, Result> {
  let waiting: Waiting<Item, Result>[] = []
  /** The groups that are written or are to be: undefined when nothing waits. */
  let writing: Promise<void> | undefined

  const writeGroup = async (): Promise<void> => {
    await setImmediate()
    const group = waiting
    waiting = []
    try {
      const results = await writeAll(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  const writeGroups = async (): Promise<void> => {
    while (waiting.length > 0) await writeGroup()
    writing = undefined
  }
  const commit = (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      writing ??= writeGroups()
    })
  return Object.assign(commit, { settled: async () => writing, waiting: () => waiting.length })
}
