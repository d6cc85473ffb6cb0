/**
 * Commits the effects of a call (storage, transactions, timers, spent requests) in one batch, on condition that
 * nothing else of the contract was changed since the call began.
 */
import type { Block } from '../chain/chain.ts'
import type { CallEffects, StorageChange } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { Change } from '../store/store.ts'
import type { EngineCollections, EngineStore } from './collections.ts'
import type { ContractRow, ContractRows } from './contract-rows.ts'
import type { Limits } from './limits.ts'
import type { Outbox } from './outbox.ts'
import { retryWhenFull } from './retry.ts'
import type { EndedTimer, TimerBook, TimerPlan } from './timer-book.ts'

export interface CommitContext {
  readonly store: EngineStore
  readonly contractRows: ContractRows
  readonly timers: TimerBook
  readonly outbox: Outbox
  readonly limits: Limits
  readonly storageIdOf: (contract: Address, bucket: Uint8Array, key: Uint8Array) => string
  readonly now: () => Date
}

/** A stored value as a call saw it; undefined when there was none. */
export type Seen = Map<string, { readonly version: number; readonly bytes: number } | undefined>

export interface Finished {
  readonly contract: Address
  /** The contract's row before the call read anything. */
  readonly contractRow: ContractRow
  readonly seen: Seen
  readonly effects: CallEffects
  /** The block that the call saw. */
  readonly block: Pick<Block, 'number' | 'hash'>
  /** Whether it is remembered that the contract was brought to this block, also where nothing else changed. */
  readonly reconciles?: boolean
  /** The status of the HTTP response. */
  readonly status?: number | undefined
  /** The timer that it was, and what became of it. */
  readonly ended?: EndedTimer | undefined
}

/** The limit of its contract that a call would have gone beyond. */
export interface Quota {
  readonly limit: 'storageBytes' | 'timers' | 'outboxTransactions' | 'transactionsPerDay'
  /** When to try again, where it passes by itself. */
  readonly until: Date | undefined
}

/** The result of a commit; only one that is `committed` leaves anything behind. `conflict`: another call was first. */
export type CommitResult =
  | { readonly kind: 'committed' }
  | { readonly kind: 'conflict' }
  | ({ readonly kind: 'quota' } & Quota)

const DAY_MS = 86_400_000

/** Tests whether a call changes what other calls may read. */
export function isWriting({
  effects,
  ended,
  reconciles = false,
}: Pick<Finished, 'effects' | 'ended' | 'reconciles'>): boolean {
  const { storage, transactions, timers } = effects
  return storage.length + transactions.length + timers.length > 0 || ended !== undefined || reconciles
}

export async function commitCall(context: CommitContext, finished: Finished): Promise<CommitResult> {
  const { contractRows, timers, outbox, now } = context
  const { contract, contractRow, effects, block } = finished
  const spent = spentChanges(finished, now())
  if (!isWriting(finished)) return commitSpent(context, finished, spent)
  const storage = await storageChanges(context, finished)
  const storageBytes = contractRow.storageBytes + storage.growth
  const plan = timers.plan(contract, effects.timers, now(), finished.ended)
  const rows = outbox.rows(contract, effects.transactions)
  const counted = countToday(contractRow, rows.length, now())
  const quota =
    storageQuota(context, { bytes: storageBytes, growth: storage.growth }, plan) ??
    transactionQuota(context, contract, rows.length, counted)
  if (quota !== undefined) return { kind: 'quota', ...quota }
  const acted = { number: block.number, hash: block.hash }
  const state = { storageBytes, block: acted, ...(counted === undefined ? {} : { counted }) }
  const batch = [
    contractRowChange(contract, contractRow, state),
    ...spent,
    ...storage.changes,
    ...plan.changes,
    ...rows,
  ]
  return contractRows.whileCommitting(contract, async () => {
    if (!(await commitBatch(context, contract, batch))) return { kind: 'conflict' }
    contractRows.set(contract, { version: (contractRow.version ?? -1) + 1, ...state })
    plan.apply()
    outbox.added(rows)
    return { kind: 'committed' }
  })
}

/**
 * Returns the limit on storage that the call would exceed. A call that frees storage or timers is not refused. The time
 * at which there is room again is unknown: the component deletes something, or a timer runs.
 */
function storageQuota(
  { limits }: CommitContext,
  storage: { readonly bytes: number; readonly growth: number },
  timers: TimerPlan,
): Quota | undefined {
  if (storage.growth > 0 && storage.bytes > limits.storageBytes) return { limit: 'storageBytes', until: undefined }
  if (timers.growth > 0 && timers.scheduled > limits.timers) return { limit: 'timers', until: undefined }
  return undefined
}

/**
 * Returns the limit on transactions that the call would exceed. It has room again when time has passed, unless the call
 * alone asks for more than the limit.
 */
function transactionQuota(
  { outbox, limits, now }: CommitContext,
  contract: Address,
  more: number,
  counted: ContractRow['counted'],
): Quota | undefined {
  if (more === 0 || counted === undefined) return undefined
  const met = (limit: 'outboxTransactions' | 'transactionsPerDay', until: Date): Quota => {
    return { limit, until: more > limits[limit] ? undefined : until }
  }
  if (outbox.count(contract) + more > limits.outboxTransactions) return met('outboxTransactions', retryWhenFull(now()))
  const nextDay = new Date((counted.day + 1) * DAY_MS)
  return counted.transactions > limits.transactionsPerDay ? met('transactionsPerDay', nextDay) : undefined
}

/** Commits a call that only spends signed requests. No other call reads their rows, so that none has to wait for it. */
async function commitSpent(
  context: CommitContext,
  { contract, contractRow, effects }: Finished,
  spent: readonly Change<EngineCollections>[],
): Promise<CommitResult> {
  if (effects.reads > 1 && !(await context.contractRows.isCurrent(contract, contractRow))) return { kind: 'conflict' }
  const conflict = spent.length === 0 ? undefined : await context.store.commit(spent)
  return { kind: conflict === undefined ? 'committed' : 'conflict' }
}

/** Commits the batch; false when another call was first. */
async function commitBatch(
  { store, contractRows, timers, outbox }: CommitContext,
  contract: Address,
  batch: readonly Change<EngineCollections>[],
): Promise<boolean> {
  const refused = await store.commit(batch).catch((error: unknown) => {
    // The batch may be on disk all the same.
    contractRows.forget(contract)
    timers.doubt()
    outbox.doubt()
    throw error
  })
  if (refused === undefined) return true
  contractRows.forget(contract)
  await timers.load()
  return false
}

/**
 * Counts `more` transactions of today; undefined when there never was one. A clock set back by some hours begins no
 * new count.
 */
function countToday({ counted }: ContractRow, more: number, now: Date): ContractRow['counted'] {
  if (more === 0) return counted
  const today = Math.floor(now.getTime() / DAY_MS)
  // A clock that was far ahead is no reason to count that day until it comes.
  if (counted === undefined || counted.day < today || counted.day > today + 1) return { day: today, transactions: more }
  return { day: counted.day, transactions: counted.transactions + more }
}

function contractRowChange(
  contract: Address,
  { version }: ContractRow,
  value: EngineCollections['component_state'],
): Change<EngineCollections> {
  return version === undefined
    ? { insert: 'component_state', id: contract, value }
    : { update: 'component_state', id: contract, version, value }
}

function spentChanges({ effects, status = 200 }: Finished, now: Date): Change<EngineCollections>[] {
  const accepted = effects.spent.filter(({ unlessRefused }) => !unlessRefused || status < 300)
  const byId = new Map(accepted.map((each) => [each.id, each]))
  return [...byId.values()].map(({ id, until }) => {
    return { insert: 'spent_request', id, value: { at: now.getTime() }, dueAt: until }
  })
}

async function storageChanges(
  { store, storageIdOf }: CommitContext,
  { contract, effects, seen }: Finished,
): Promise<{ readonly changes: readonly Change<EngineCollections>[]; readonly growth: number }> {
  const changes: Change<EngineCollections>[] = []
  let growth = 0
  for (const change of lastOfEach(effects.storage, (bucket, key) => storageIdOf(contract, bucket, key))) {
    const before = seen.has(change.id) ? seen.get(change.id) : await storedAt(store, change.id)
    const written = changeOf(change, before)
    if (written === undefined) continue
    changes.push(written.change)
    growth += written.growth
  }
  return { changes, growth }
}

interface Placed extends StorageChange {
  readonly id: string
}

function lastOfEach(
  storage: readonly StorageChange[],
  idOf: (bucket: Uint8Array, key: Uint8Array) => string,
): Iterable<Placed> {
  const last = new Map<string, Placed>()
  for (const change of storage) {
    const id = idOf(change.bucket, change.key)
    last.set(id, { ...change, id })
  }
  return last.values()
}

async function storedAt(store: EngineStore, id: string): Promise<{ version: number; bytes: number } | undefined> {
  const row = await store.get('component_storage', id)
  return row && { version: row.version, bytes: row.value.bytes }
}

function changeOf(
  { id, bucket, key, value }: Placed,
  before: { readonly version: number; readonly bytes: number } | undefined,
): { readonly change: Change<EngineCollections>; readonly growth: number } | undefined {
  const collection = 'component_storage'
  if (value === undefined) {
    if (before === undefined) return undefined
    return { change: { delete: collection, id, version: before.version, erases: true }, growth: -before.bytes }
  }
  const bytes = bucket.length + key.length + value.length
  const stored = { value: Buffer.from(value).toString('base64'), bytes }
  if (before === undefined) return { change: { insert: collection, id, value: stored }, growth: bytes }
  return {
    change: { update: collection, id, version: before.version, value: stored, erases: true },
    growth: bytes - before.bytes,
  }
}
