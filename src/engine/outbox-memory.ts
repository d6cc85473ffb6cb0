/** The state that a round of the outbox leaves to the next. */
import type { OutboxRows } from './outbox-rows.ts'
import { createRetryList, type RetryList } from './retry-list.ts'

export interface OutboxMemory {
  readonly rows: OutboxRows
  /** The rows that the chain can neither accept nor reject now, with their next attempts. */
  readonly refusedRows: RetryList
  /** The times at which this process last sent the transactions, by the ids of their rows. */
  readonly sentAt: Map<string, number>
  /** Whether the next round reads the rows also when the chain has no new block. */
  isDirty: boolean
  /** Whether the chain took no transactions in the last round, which is logged once. */
  isBlocked: boolean
  /** Whether there may be free nonces below those of the transactions that are on their way. */
  hasGaps: boolean
  /** The hash of the block at which the last round looked up the outcomes. */
  checkedBlock: string | undefined
}

/** Makes the memory of a new process, which tries a refused row again after `refusedMs`. */
export function createOutboxMemory(rows: OutboxRows, refusedMs: number): OutboxMemory {
  return {
    rows,
    refusedRows: createRetryList(refusedMs),
    sentAt: new Map(),
    isDirty: true,
    isBlocked: false,
    hasGaps: false,
    checkedBlock: undefined,
  }
}
