/**
 * Reads the rows of the outbox. Keeps in memory the oldest rows as they were last read, and the contract and time of
 * every row.
 */
import type { Address } from '../offchain/address.ts'
import { type DueRow, END_OF_TIME } from '../store/store.ts'
import type { EngineStore, OutboxRow } from './collections.ts'

export type QueuedTransaction = DueRow<OutboxRow>

/** The change that inserts a row; it is part of the batch of a call. */
export interface OutboxInsert {
  readonly insert: 'outbox'
  readonly id: string
  readonly value: OutboxRow
  readonly dueAt: Date
}

export interface OutboxRows {
  /** Reads the contract and time of every row. */
  load(): Promise<void>
  /**
   * Reads the oldest rows, in the order in which components requested them, and removes deleted rows from the counts.
   */
  read(): Promise<readonly QueuedTransaction[]>
  /** Adds the rows that a call has committed to the counts. */
  addStored(rows: readonly OutboxInsert[]): void
  isEmpty(): boolean
  /** Returns the number of transactions of a contract that are not included yet. */
  count(contract: Address): number
  getState(now: Date): { readonly count: number; readonly oldestSeconds: number }
}

const MAX_ROWS = 10_000

/** Makes the reader of the outbox. The caller calls `load` before anything else. */
export function createOutboxRows(store: EngineStore): OutboxRows {
  const waiting = new Map<string, Pick<OutboxRow, 'contract' | 'createdAt'>>()
  // Rows whose version is unchanged are reused, so that they are not decrypted again.
  let lastRead: ReadonlyMap<string, QueuedTransaction> = new Map()
  const add = (id: string, { contract, createdAt }: OutboxRow): void => void waiting.set(id, { contract, createdAt })
  return {
    load: async () => {
      for (const { id, value } of await store.listDue('outbox', END_OF_TIME, Number.MAX_SAFE_INTEGER)) add(id, value)
    },
    read: async () => {
      const waitingBefore = [...waiting]
      const storedRows = await store.listDue('outbox', END_OF_TIME, MAX_ROWS)
      const rows = storedRows.map((row) => reuseUnchanged(row, lastRead.get(row.id)))
      lastRead = new Map(rows.map((row) => [row.id, row]))
      for (const { id, value } of rows) add(id, value)
      // Rows that are newer than the last row read may exist beyond the limit, and must not be removed from the counts.
      const newestCreatedAt = rows.length < MAX_ROWS ? Infinity : (rows.at(-1)?.value.createdAt ?? Infinity)
      for (const [id, { createdAt }] of waitingBefore)
        if (createdAt < newestCreatedAt && !lastRead.has(id)) waiting.delete(id)
      return rows
    },
    addStored: (rows) => {
      for (const { id, value } of rows) add(id, value)
    },
    isEmpty: () => waiting.size === 0,
    count: (contract) => [...waiting.values()].filter((each) => each.contract === contract).length,
    getState: (now) => {
      const oldest = [...waiting.values()].reduce((least, { createdAt }) => Math.min(least, createdAt), now.getTime())
      return { count: waiting.size, oldestSeconds: (now.getTime() - oldest) / 1000 }
    },
  }
}

function reuseUnchanged(row: QueuedTransaction, rowBefore: QueuedTransaction | undefined): QueuedTransaction {
  return rowBefore?.version === row.version ? rowBefore : { id: row.id, version: row.version, value: row.value }
}

/**
 * Orders transactions in turns: the first of each contract, then the second of each, and so on, so that many
 * transactions of one contract do not delay those of others. `rowsInFlight` count as earlier transactions of their
 * contracts.
 */
export function orderFairly(
  queuedRows: readonly QueuedTransaction[],
  rowsInFlight: readonly QueuedTransaction[],
): readonly QueuedTransaction[] {
  const ranks = new Map<Address, number>()
  const rankOf = ({ value: { contract } }: QueuedTransaction): number => {
    const rank = ranks.get(contract) ?? 0
    ranks.set(contract, rank + 1)
    return rank
  }
  rowsInFlight.forEach(rankOf)
  const rankedRows = queuedRows.map((row) => ({ row, rank: rankOf(row) }))
  return rankedRows.sort((one, other) => one.rank - other.rank).map(({ row }) => row)
}
