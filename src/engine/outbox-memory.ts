/**
 * The state that the outbox keeps from one round to the next. Its times are monotonic milliseconds, and
 * end with the process: a new process waits anew.
 */
import { createRetryList, type RetryList } from './retry-list.ts'

/** A nonce that no transaction in flight has, although one in flight has a higher nonce. */
export interface NonceGap {
  readonly nonce: number
  /** The time at which this process first saw the gap. */
  readonly since: number
}

/** The highest nonce of the transactions that blocks included. */
export interface IncludedNonce {
  readonly nonce: number
  /** The time at which this process saw that the transaction was included. */
  readonly at: number
}

export interface OutboxMemory {
  /**
   * The rows that could not be signed, because the chain neither estimated nor rejected them, and the signed rows whose
   * outcome the chain does not say, with their next attempts.
   */
  readonly refusedRows: RetryList
  /** The time at which this process last sent each transaction, by row id. */
  readonly sentAt: Map<string, number>
  /** The time since which the node says that a transaction is lost, by row id. */
  readonly goneSince: Map<string, number>
  /** The ids of the signed rows whose transaction is in a block that the engine has not reached. */
  readonly unconfirmedRows: Set<string>
  /** Whether the next round runs even if the chain has no new block. */
  isDirty: boolean
  /** Whether the chain accepted no transactions in the last round; this is logged once. */
  isBlocked: boolean
  /** Whether the next transactions take the nonces of the gap: after a reorganisation, and once the gap is old. */
  mayFillGap: boolean
  /** The gap below the transactions in flight that the last round found. */
  gap: NonceGap | undefined
  /** The nonces up to this one are not given again. Undefined before the first, and after a reorganisation. */
  includedNonce: IncludedNonce | undefined
  /** The hash of the block at which the last round looked up the outcomes. */
  checkedBlock: string | undefined
  /** The time of the last round. */
  checkedAt: number
}

/** Makes the memory of a new process. `refusedMs` is the longest pause before a refused row is tried again. */
export function createOutboxMemory(refusedMs: number): OutboxMemory {
  return {
    refusedRows: createRetryList(refusedMs),
    sentAt: new Map(),
    goneSince: new Map(),
    unconfirmedRows: new Set(),
    isDirty: true,
    isBlocked: false,
    mayFillGap: false,
    gap: undefined,
    includedNonce: undefined,
    checkedBlock: undefined,
    checkedAt: 0,
  }
}
