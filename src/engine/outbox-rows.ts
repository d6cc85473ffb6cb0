/** The rows of the outbox: the oldest as they were read last, and for all rows which contracts they belong to. */
import type { Address } from '../offchain/address.ts'
import type { DueRow } from '../store/store.ts'
import { type EngineStore, FAR, type OutboxRow } from './collections.ts'

export type QueuedTransaction = DueRow<OutboxRow>

/** The change that inserts a row in the batch of a call. */
export interface Insert {
  readonly insert: 'outbox'
  readonly id: string
  readonly value: OutboxRow
  readonly dueAt: Date
}

export interface OutboxRows {
  /** Counts them all. */
  load(): Promise<void>
  /** Reads the oldest, in the order in which they were asked for; what is gone is not counted any more. */
  read(): Promise<readonly QueuedTransaction[]>
  /** Adds rows that are on disk. */
  added(rows: readonly Insert[]): void
  isEmpty(): boolean
  /** Returns the number of transactions of the contract that wait to be included. */
  count(contract: Address): number
  state(now: Date): { readonly count: number; readonly oldestSeconds: number }
}

const MOST_ROWS = 10_000

export function createOutboxRows(store: EngineStore): OutboxRows {
  const waiting = new Map<string, Pick<OutboxRow, 'contract' | 'createdAt'>>()
  // A row with the same version is not decrypted again.
  let last: ReadonlyMap<string, QueuedTransaction> = new Map()
  const add = (id: string, { contract, createdAt }: OutboxRow): void => void waiting.set(id, { contract, createdAt })
  return {
    load: async () => {
      for (const { id, value } of await store.due('outbox', FAR, Number.MAX_SAFE_INTEGER)) add(id, value)
    },
    read: async () => {
      const before = [...waiting]
      const stored = await store.due('outbox', FAR, MOST_ROWS)
      const rows = stored.map((row) => unlessSame(row, last.get(row.id)))
      last = new Map(rows.map((row) => [row.id, row]))
      for (const { id, value } of rows) add(id, value)
      // Where there are more, they are not older than the last of these.
      const end = rows.length < MOST_ROWS ? Infinity : (rows.at(-1)?.value.createdAt ?? Infinity)
      for (const [id, { createdAt }] of before) if (createdAt < end && !last.has(id)) waiting.delete(id)
      return rows
    },
    added: (rows) => {
      for (const { id, value } of rows) add(id, value)
    },
    isEmpty: () => waiting.size === 0,
    count: (contract) => [...waiting.values()].filter((each) => each.contract === contract).length,
    state: (now) => {
      const oldest = [...waiting.values()].reduce((least, { createdAt }) => Math.min(least, createdAt), now.getTime())
      return { count: waiting.size, oldestSeconds: (now.getTime() - oldest) / 1000 }
    },
  }
}

function unlessSame(row: QueuedTransaction, before: QueuedTransaction | undefined): QueuedTransaction {
  return before?.version === row.version ? before : { id: row.id, version: row.version, value: row.value }
}

/**
 * Returns the first of each contract, then the second of each, and so on, so that many of one contract delay no other.
 * The transactions `before` them, which are on their way, count.
 */
export function orderFairly(
  queued: readonly QueuedTransaction[],
  before: readonly QueuedTransaction[],
): readonly QueuedTransaction[] {
  const ranks = new Map<Address, number>()
  const rankOf = ({ value: { contract } }: QueuedTransaction): number => {
    const rank = ranks.get(contract) ?? 0
    ranks.set(contract, rank + 1)
    return rank
  }
  before.forEach(rankOf)
  const ranked = queued.map((row) => ({ row, rank: rankOf(row) }))
  return ranked.sort((one, other) => one.rank - other.rank).map(({ row }) => row)
}
