/**
 * Reads and changes the rows of the outbox. Keeps in memory what orders and counts the rows, and never their payloads,
 * which together may be larger than the memory of the process.
 */
import type { Address } from '../offchain/address.ts'
import { type Change, type DuePosition, type DueRow, END_OF_TIME } from '../store/store.ts'
import type { EngineCollections, EngineStore, OutboxRow } from './collections.ts'

export type QueuedTransaction = DueRow<OutboxRow>

/** The change that inserts a row; it is part of the batch of a call. */
export interface OutboxInsert {
  readonly insert: 'outbox'
  readonly id: string
  readonly value: OutboxRow
  readonly dueAt: Date
}

/** The members of a row that are kept in memory. */
export interface WaitingTransaction {
  readonly id: string
  readonly contract: Address
  readonly createdAt: number
  readonly payloadBytes: number
  /** The nonce of a signed transaction. */
  readonly nonce: number | undefined
}

/** The transactions of a contract that are not included yet, and the bytes of their payloads. */
export interface OutboxUse {
  readonly transactions: number
  readonly payloadBytes: number
}

export interface OutboxRows {
  /** Reads every row, some rows at a time. */
  load(): Promise<void>
  /** Makes {@link refresh} read every row again, because the rows on disk may differ from those in memory. */
  invalidate(): void
  isCurrent(): boolean
  /** Reads every row again, when the rows on disk may differ from those in memory. */
  refresh(): Promise<void>
  /** Adds the rows that a call has committed. */
  addStored(rows: readonly OutboxInsert[]): void
  /** Returns the rows in the order in which components requested them. */
  list(): readonly WaitingTransaction[]
  /** Reads one row; undefined when it was deleted. */
  read(id: string): Promise<QueuedTransaction | undefined>
  /** Stores rows with new values, all or none. Returns false when another process changed one of them. */
  update(rows: readonly QueuedTransaction[]): Promise<boolean>
  /** Deletes a row, and commits other changes with that. Does nothing when another process changed the row. */
  remove(
    row: Pick<QueuedTransaction, 'id' | 'version'>,
    ...changes: readonly Change<EngineCollections>[]
  ): Promise<void>
  isEmpty(): boolean
  /** Returns the latest time at which one of the rows was requested, in milliseconds since 1970; 0 without rows. */
  getNewestTime(): number
  /** Counts the transactions of a contract that are not included yet. */
  countUse(contract: Address): OutboxUse
  getState(now: Date): { readonly count: number; readonly oldestSeconds: number }
}

/** The number of rows that are read at once; each has some hundred KiB at most. */
const ROWS_AT_ONCE = 32

/** The rows in memory, by id. */
interface RowIndex {
  readonly waiting: Map<string, WaitingTransaction>
  isCurrent: boolean
}

/** Makes the rows of the outbox. The caller calls `load` before anything else. */
export function createOutboxRows(store: EngineStore): OutboxRows {
  const index: RowIndex = { waiting: new Map(), isCurrent: true }
  const { waiting } = index
  return {
    load: () => loadIndex(store, index),
    invalidate: () => {
      index.isCurrent = false
    },
    isCurrent: () => index.isCurrent,
    refresh: () => (index.isCurrent ? Promise.resolve() : loadIndex(store, index)),
    addStored: (rows) => {
      for (const row of rows) addRow(index, row)
    },
    // The ids are in that order, but rows that a failed commit left on disk come late into the map.
    list: () => [...waiting.values()].sort((one, other) => (one.id < other.id ? -1 : 1)),
    read: async (id) => {
      const row = await store.get('outbox', id)
      if (row === undefined) waiting.delete(id)
      else addRow(index, { id, value: row.value })
      return row && { id, ...row }
    },
    update: async (rows) => {
      const changes = rows.map(updateOf)
      const isCommitted = await commitChanges(store, index, changes)
      if (isCommitted) for (const row of rows) addRow(index, row)
      return isCommitted
    },
    remove: async ({ id, version }, ...changes) => {
      const deletion = { delete: 'outbox', id, version, erases: true } as const
      if (await commitChanges(store, index, [deletion, ...changes])) waiting.delete(id)
    },
    isEmpty: () => waiting.size === 0,
    getNewestTime: () => [...waiting.values()].reduce((newest, { createdAt }) => Math.max(newest, createdAt), 0),
    countUse: (contract) => countUse(waiting.values(), contract),
    getState: (now) => {
      const oldest = [...waiting.values()].reduce((least, { createdAt }) => Math.min(least, createdAt), now.getTime())
      return { count: waiting.size, oldestSeconds: (now.getTime() - oldest) / 1000 }
    },
  }
}

/** Returns the change that stores a row. What the row had before is overwritten, since it has the same payload. */
function updateOf({ id, version, value }: QueuedTransaction): Change<EngineCollections> {
  return { update: 'outbox', id, version, value, erases: true }
}

function addRow({ waiting }: RowIndex, { id, value }: Pick<QueuedTransaction, 'id' | 'value'>): void {
  waiting.set(id, waitingTransactionOf(id, value))
}

async function loadIndex(store: EngineStore, index: RowIndex): Promise<void> {
  // A change that comes while the rows are read makes the next round read them again.
  index.isCurrent = true
  const idsBefore = new Set(index.waiting.keys())
  try {
    await readEveryRowOnce(store, (row) => {
      addRow(index, row)
      idsBefore.delete(row.id)
    })
  } catch (error) {
    index.isCurrent = false
    throw error
  }
  for (const id of idsBefore) index.waiting.delete(id)
}

/** Calls `take` with every row of the outbox, some rows at a time. `take` may delete the row. */
export async function readEveryRowOnce(
  store: EngineStore,
  take: (row: QueuedTransaction) => Promise<void> | void,
): Promise<void> {
  for (let after: DuePosition | undefined; ; ) {
    const rows = await store.listDue('outbox', END_OF_TIME, ROWS_AT_ONCE, after)
    for (const { id, version, value } of rows) {
      await take({ id, version, value })
      after = { dueAt: new Date(value.createdAt), id }
    }
    if (rows.length < ROWS_AT_ONCE) return
  }
}

/** Commits changes. Returns false when another process changed a row. */
async function commitChanges(
  store: EngineStore,
  index: RowIndex,
  changes: readonly Change<EngineCollections>[],
): Promise<boolean> {
  const conflict = await store.commit(changes).catch((error: unknown) => {
    // The changes may be on disk although the commit failed.
    index.isCurrent = false
    throw error
  })
  if (conflict !== undefined) index.isCurrent = false
  return conflict === undefined
}

function waitingTransactionOf(id: string, { contract, createdAt, payload, signed }: OutboxRow): WaitingTransaction {
  const payloadBytes = Buffer.byteLength(payload, 'base64')
  return { id, contract, createdAt, payloadBytes, nonce: signed?.nonce }
}

function countUse(waiting: Iterable<WaitingTransaction>, contract: Address): OutboxUse {
  let [transactions, payloadBytes] = [0, 0]
  for (const each of waiting) {
    if (each.contract !== contract) continue
    transactions += 1
    payloadBytes += each.payloadBytes
  }
  return { transactions, payloadBytes }
}

/**
 * Orders transactions in turns: the first of each contract, then the second of each, and so on, so that many
 * transactions of one contract do not delay those of others. `inFlight` count as earlier transactions of their
 * contracts.
 */
export function orderFairly(
  queued: readonly WaitingTransaction[],
  inFlight: readonly WaitingTransaction[],
): readonly WaitingTransaction[] {
  const ranks = new Map<Address, number>()
  const rankOf = ({ contract }: WaitingTransaction): number => {
    const rank = ranks.get(contract) ?? 0
    ranks.set(contract, rank + 1)
    return rank
  }
  inFlight.forEach(rankOf)
  const ranked = queued.map((transaction) => ({ transaction, rank: rankOf(transaction) }))
  return ranked.sort((one, other) => one.rank - other.rank).map(({ transaction }) => transaction)
}
