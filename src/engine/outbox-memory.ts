/** The state that the outbox keeps from one round to the next. */
import type { OutboxRows } from './outbox-rows.ts'
import { createRetryList, type RetryList } from './retry-list.ts'

export interface OutboxMemory {
  readonly rows: OutboxRows
  /**
   * The rows that could not be signed, because the chain neither estimated nor rejected them, with their next attempts.
   */
  readonly refusedRows: RetryList
  /** The time at which this process last sent each transaction, by row id. */
  readonly sentAt: Map<string, number>
  /** Whether the next round reads the rows even if the chain has no new block. */
  isDirty: boolean
  /** Whether the chain accepted no transactions in the last round; this is logged once. */
  isBlocked: boolean
  /** Whether nonces below those of the signed transactions may be free again, after a reorganisation. */
  hasGaps: boolean
  /** The hash of the block at which the last round looked up the outcomes. */
  checkedBlock: string | undefined
}

/** Makes the memory of a new process. `refusedMs` is the longest pause before a refused row is tried again. */
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
