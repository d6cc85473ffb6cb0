/** The state that a round of the outbox leaves to the next. */
import type { OutboxRows } from './outbox-rows.ts'
import { createRetryList, type RetryList } from './retry-list.ts'

export interface OutboxMemory {
  readonly rows: OutboxRows
  /** Rows that the chain has no answer for. */
  readonly refused: RetryList
  /** The time at which this process sent a row last, by row. */
  readonly sent: Map<string, number>
  /** Whether there may be something to do, whatever the chain says. */
  isDirty: boolean
  isBlocked: boolean
  /** Whether there may be free nonces before those that are on their way. */
  hasGaps: boolean
  lookedAt: string | undefined
}

/** Makes the memory of a new process, which tries a refused row again after `refusedMs`. */
export function createOutboxMemory(rows: OutboxRows, refusedMs: number): OutboxMemory {
  return {
    rows,
    refused: createRetryList(refusedMs),
    sent: new Map(),
    isDirty: true,
    isBlocked: false,
    hasGaps: false,
    lookedAt: undefined,
  }
}
