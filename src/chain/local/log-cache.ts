/**
 * A cache of the logs of a local chain's blocks. Logs that are not in memory are computed again by running their block.
 */
import { createLru } from '../../async/cache.ts'
import type { Log } from './execute.ts'

/** A block, with the number of logs that its transaction emitted. */
interface LoggedBlock {
  readonly includedTransaction?: { readonly logCount: number }
}

export interface LogCache<Entry extends LoggedBlock> {
  add(entry: Entry, logs: readonly Log[]): void
  /** Returns the logs of a block in order. Runs its transaction again when they are not in memory. */
  getLogs(entry: Entry): Promise<readonly Log[]>
  /** Tests whether the logs can be returned without running the transaction. */
  has(entry: Entry): boolean
}

/** The most characters of data in the cache. Each log counts `LOG_SIZE` beside its data. */
const MAX_SIZE = 32 * 1024 * 1024
const LOG_SIZE = 400

/**
 * Makes a cache of logs of at most `mostSize` characters. `runAgain` returns the logs of a block that are not in the
 * cache.
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
