/**
 * Commits the effects of a call (storage, transactions, timers, spent requests) in one batch, on condition that no
 * other call has changed the contract since the call began.
 */
import type { Block } from '../chain/chain.ts'
import { type CallEffects, isAccepted, type StorageChange } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import { type Change, NO_ROW_VERSION } from '../store/store.ts'
import type { EngineCollections, EngineStore } from './collections.ts'
import type { EngineConfig } from './config.ts'
import type { ContractRow, ContractRows } from './contract-rows.ts'
import { ROW_BYTES } from './limits.ts'
import type { Outbox } from './outbox.ts'
import { retryTimeWhenFull } from './retry.ts'
import type { EndedTimer, TimerBook, TimerPlan } from './timer-book.ts'

export interface CommitContext {
  readonly store: EngineStore
  readonly contractRows: ContractRows
  readonly timers: TimerBook
  readonly outbox: Outbox
  readonly config: Pick<EngineConfig, 'limits'>
  readonly storageIdOf: (address: Address, bucket: Uint8Array, key: Uint8Array) => string
  readonly now: () => Date
}

/** The version and size of each stored value that a call has loaded, by storage id; undefined for an absent value. */
export type StorageReads = Map<string, { readonly version: number; readonly bytes: number } | undefined>

/** A call that has run, with what its commit needs. */
export interface CallToCommit {
  readonly address: Address
  /** The contract's row as it was read before the call began. */
  readonly contractRow: ContractRow
  readonly storageReads: StorageReads
  readonly effects: CallEffects
  /** The block at which the call ran. */
  readonly block: Pick<Block, 'number' | 'hash'>
  /**
   * Whether the call reconciled the contract. The commit then stores the block even when the call changed nothing else.
   */
  readonly reconciles?: boolean
  /** The status of the HTTP response. */
  readonly status?: number | undefined
  /** The timer that the call ran, with its row after the run. */
  readonly endedTimer?: EndedTimer | undefined
}

/** The limit of a contract that a call would have exceeded. */
export interface Quota {
  readonly limit: 'storageBytes' | 'timers' | 'outboxTransactions' | 'outboxBytes' | 'transactionsPerDay'
  /** The time at which the call can succeed; undefined when waiting alone does not help. */
  readonly until: Date | undefined
}

/**
 * The result of a commit. Only `committed` has stored anything. `conflict`: another call changed the contract first.
 */
export type CommitResult =
  | { readonly kind: 'committed' }
  | { readonly kind: 'conflict' }
  | ({ readonly kind: 'quota' } & Quota)

const DAY_MS = 86_400_000

/** Returns the number of the day (UTC) since 1970; the transactions of a contract are counted by day. */
export function dayOf(now: Date): number {
  return Math.floor(now.getTime() / DAY_MS)
}

/**
 * Tests whether a call changes rows that other calls read: storage, transactions, timers, or the block of the contract.
 */
export function isWriting({
  effects,
  endedTimer,
  reconciles = false,
}: Pick<CallToCommit, 'effects' | 'endedTimer' | 'reconciles'>): boolean {
  const { storage, transactions, timers } = effects
  return storage.length + transactions.length + timers.length > 0 || endedTimer !== undefined || reconciles
}

/**
 * Commits the effects of a call that has run. Returns `quota` when they would exceed a limit, and `conflict` when
 * another call changed the contract since the call began; the caller then runs the call again.
 */
export async function commitCall(context: CommitContext, call: CallToCommit): Promise<CommitResult> {
  const { contractRows, timers, outbox, now } = context
  const { address, contractRow, effects, block } = call
  const requestChanges = spentRequestChanges(call, now())
  if (!isWriting(call)) return commitSpentRequests(context, call, requestChanges)
  const storage = await storageChanges(context, call)
  const storageBytes = contractRow.storageBytes + storage.growth
  const plan = timers.plan(address, effects.timers, now(), call.endedTimer)
  const outboxRows = outbox.createRows(address, effects.transactions)
  const dailyTransactions = countToday(contractRow, outboxRows.length, now())
  const quota =
    storageQuota(context, { bytes: storageBytes, growth: storage.growth }, plan) ??
    transactionQuota(context, address, effects.transactions, dailyTransactions)
  if (quota !== undefined) return { kind: 'quota', ...quota }
  const blockOfCall = { number: block.number, hash: block.hash }
  const state = { storageBytes, block: blockOfCall }
  const value = { ...state, ...(dailyTransactions === undefined ? {} : { asked: dailyTransactions }) }
  const batch = [
    contractRowChange(address, contractRow, value),
    ...requestChanges,
    ...storage.changes,
    ...plan.changes,
    ...outboxRows,
  ]
  return contractRows.runCommit(address, async () => {
    if (!(await commitBatch(context, address, batch))) return { kind: 'conflict' }
    contractRows.set(address, { version: (contractRow.version ?? NO_ROW_VERSION) + 1, ...state, dailyTransactions })
    plan.apply()
    outbox.addStored(outboxRows)
    return { kind: 'committed' }
  })
}

/**
 * Returns the limit on storage or timers that the call would exceed; undefined when there is none. A call that frees
 * storage or timers is not refused. `until` is undefined: room depends on the component, or on the run of a timer.
 */
function storageQuota(
  { config: { limits } }: CommitContext,
  storage: { readonly bytes: number; readonly growth: number },
  timers: TimerPlan,
): Quota | undefined {
  if (storage.growth > 0 && storage.bytes > limits.storageBytes) return { limit: 'storageBytes', until: undefined }
  if (timers.growth > 0 && timers.scheduled > limits.timers) return { limit: 'timers', until: undefined }
  return undefined
}

/**
 * Returns the limit on transactions that the call would exceed; undefined when there is none. `until` is undefined when
 * the call alone requests more than the limit.
 */
function transactionQuota(
  { outbox, config: { limits }, now }: CommitContext,
  address: Address,
  newTransactions: CallEffects['transactions'],
  dailyTransactions: ContractRow['dailyTransactions'],
): Quota | undefined {
  const { length: count } = newTransactions
  if (count === 0 || dailyTransactions === undefined) return undefined
  const bytes = newTransactions.reduce((sum, { payload }) => sum + payload.length, 0)
  const use = outbox.countUse(address)
  const untilFree = (isPossible: boolean): Date | undefined => (isPossible ? retryTimeWhenFull(now()) : undefined)
  if (use.transactions + count > limits.outboxTransactions)
    return { limit: 'outboxTransactions', until: untilFree(count <= limits.outboxTransactions) }
  if (use.payloadBytes + bytes > limits.outboxBytes)
    return { limit: 'outboxBytes', until: untilFree(bytes <= limits.outboxBytes) }
  if (dailyTransactions.transactions <= limits.transactionsPerDay) return undefined
  const nextDay = new Date((dailyTransactions.day + 1) * DAY_MS)
  return { limit: 'transactionsPerDay', until: count > limits.transactionsPerDay ? undefined : nextDay }
}

/**
 * Commits a call that writes nothing but spent requests. It does not change the contract's row, so no other call
 * conflicts with it. A call that loaded more than one value conflicts when the row has changed, since two values may be
 * of two versions.
 */
async function commitSpentRequests(
  context: CommitContext,
  { address, contractRow, effects }: CallToCommit,
  requestChanges: readonly Change<EngineCollections>[],
): Promise<CommitResult> {
  if (effects.reads > 1 && !(await context.contractRows.isCurrent(address, contractRow))) return { kind: 'conflict' }
  const conflict = requestChanges.length === 0 ? undefined : await context.store.commit(requestChanges)
  return { kind: conflict === undefined ? 'committed' : 'conflict' }
}

/** Commits the batch. Resolves to false when another call was first. */
async function commitBatch(
  { store, contractRows, timers, outbox }: CommitContext,
  address: Address,
  batch: readonly Change<EngineCollections>[],
): Promise<boolean> {
  const conflict = await store.commit(batch).catch((error: unknown) => {
    // The batch may be on disk although the commit failed.
    contractRows.forget(address)
    timers.invalidate()
    outbox.invalidate()
    throw error
  })
  if (conflict === undefined) return true
  contractRows.forget(address)
  await timers.load()
  return false
}

/**
 * Returns the count of the day with `newTransactions` added; undefined when the contract never had a transaction. A
 * clock that was set back by some hours does not begin a new count.
 */
function countToday(
  { dailyTransactions: count }: ContractRow,
  newTransactions: number,
  now: Date,
): ContractRow['dailyTransactions'] {
  if (newTransactions === 0) return count
  const today = dayOf(now)
  // A count for a day far ahead comes from a wrong clock, and is dropped.
  if (count === undefined || count.day < today || count.day > today + 1)
    return { day: today, transactions: newTransactions }
  return { day: count.day, transactions: count.transactions + newTransactions }
}

function contractRowChange(
  address: Address,
  { version }: ContractRow,
  value: EngineCollections['component_state'],
): Change<EngineCollections> {
  return version === undefined
    ? { insert: 'component_state', id: address, value }
    : { update: 'component_state', id: address, version, value }
}

function spentRequestChanges({ effects, status }: CallToCommit, now: Date): Change<EngineCollections>[] {
  const acceptedRequests = effects.spentRequests.filter((request) => isAccepted(request, status))
  return acceptedRequests.map(({ id, until }) => {
    return { insert: 'spent_request', id, value: { at: now.getTime() }, dueAt: until }
  })
}

async function storageChanges(
  { store, storageIdOf }: CommitContext,
  { address, effects, storageReads }: CallToCommit,
): Promise<{ readonly changes: readonly Change<EngineCollections>[]; readonly growth: number }> {
  const changes: Change<EngineCollections>[] = []
  let growth = 0
  for (const change of lastChanges(effects.storage, (bucket, key) => storageIdOf(address, bucket, key))) {
    const valueBefore = storageReads.has(change.id)
      ? storageReads.get(change.id)
      : await readStoredValue(store, change.id)
    const rowChange = storageRowChange(change, valueBefore)
    if (rowChange === undefined) continue
    changes.push(rowChange.change)
    growth += rowChange.growth
  }
  return { changes, growth }
}

interface IdentifiedChange extends StorageChange {
  readonly id: string
}

function lastChanges(
  storage: readonly StorageChange[],
  idOf: (bucket: Uint8Array, key: Uint8Array) => string,
): Iterable<IdentifiedChange> {
  const last = new Map<string, IdentifiedChange>()
  for (const change of storage) {
    const id = idOf(change.bucket, change.key)
    last.set(id, { ...change, id })
  }
  return last.values()
}

async function readStoredValue(
  store: EngineStore,
  id: string,
): Promise<{ version: number; bytes: number } | undefined> {
  const row = await store.get('component_storage', id)
  return row && { version: row.version, bytes: row.value.bytes }
}

function storageRowChange(
  { id, bucket, key, value }: IdentifiedChange,
  valueBefore: { readonly version: number; readonly bytes: number } | undefined,
): { readonly change: Change<EngineCollections>; readonly growth: number } | undefined {
  const collection = 'component_storage'
  if (value === undefined) {
    if (valueBefore === undefined) return undefined
    return {
      change: { delete: collection, id, version: valueBefore.version, erases: true },
      growth: -valueBefore.bytes,
    }
  }
  const bytes = ROW_BYTES + bucket.length + key.length + value.length
  const rowValue = { value: Buffer.from(value).toString('base64'), bytes }
  if (valueBefore === undefined) return { change: { insert: collection, id, value: rowValue }, growth: bytes }
  return {
    change: { update: collection, id, version: valueBefore.version, value: rowValue, erases: true },
    growth: bytes - valueBefore.bytes,
  }
}
