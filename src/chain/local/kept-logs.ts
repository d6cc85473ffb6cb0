/**
 * The logs of a local chain's blocks: those that were used last stay in memory, and all others come from running a
 * block again.
 */
import { createLru } from '../../async/lru.ts'
import type { Log } from './execute.ts'

/** A block with the count of the logs that its transaction left. */
interface LoggedBlock {
  readonly includedTransaction?: { readonly logCount: number }
}

export interface LogCache<Entry extends LoggedBlock> {
  add(entry: Entry, logs: readonly Log[]): void
  /** Returns the logs of a block in their order; runs its transaction again where they are not in memory any more. */
  getLogs(entry: Entry): Promise<readonly Log[]>
  has(entry: Entry): boolean
}

/** The most characters of data that are kept, with something for each log beside its data. */
const MAX_SIZE = 32 * 1024 * 1024
const LOG_SIZE = 400

/**
 * Keeps the logs of blocks in memory, up to `mostSize` characters; `runAgain` gives the logs of a block that are not
 * kept.
 */
export function createLogCache<Entry extends LoggedBlock>(
  runAgain: (entry: Entry) => Promise<readonly Log[]>,
  mostSize = MAX_SIZE,
): LogCache<Entry> {
  const cachedLogs = createLru<Entry, readonly Log[]>(mostSize, sizeOf)
  const isWithoutLogs = (entry: Entry): boolean => (entry.includedTransaction?.logCount ?? 0) === 0
  return {
    add: (entry, logs) => {
      if (logs.length > 0) cachedLogs.set(entry, logs)
    },
    getLogs: async (entry) => (isWithoutLogs(entry) ? [] : (cachedLogs.get(entry) ?? runAgain(entry))),
    has: (entry) => isWithoutLogs(entry) || cachedLogs.get(entry) !== undefined,
  }
}

function sizeOf(logs: readonly Log[]): number {
  return logs.reduce((sum, { data }) => sum + data.length + LOG_SIZE, 0)
}
