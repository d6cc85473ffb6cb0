/** The timers of all contracts: rows of the store with a cache in memory. No other process changes them. */
import type { CallEffects, TimerState } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import { type Change, type DueRow, END_OF_TIME, NO_ROW_VERSION } from '../store/store.ts'
import type { EngineCollections, EngineStore, TimerRow } from './collections.ts'
import { LONGEST_UNCOUNTED_MS } from './retry.ts'
import { createRetryList, type RetryList } from './retry-list.ts'

/** The time for which the row of an ended timer is kept, so that its status can be read. */
const KEEP_ENDED_MS = 24 * 3_600_000
/** The most ended timers of a contract that are kept; the oldest are deleted. */
const MAX_ENDED = 64
/** The most rows that are deleted in one transaction. */
const MAX_PURGED = 1000

/** The changes of a contract's timers, which the caller commits and then applies in memory. */
export interface TimerPlan {
  readonly changes: readonly Change<EngineCollections>[]
  /** Applies the plan in memory, once the changes are on disk. */
  readonly apply: () => void
  /** The number of timers of the contract that are scheduled once the plan is applied. */
  readonly scheduled: number
  /** The number of scheduled timers that the plan adds; negative when it removes some. */
  readonly growth: number
}

/** The timer that a call has run, with its new row. */
export interface EndedTimer {
  readonly id: number
  readonly row: TimerRow
}

export interface TimerBook {
  /** Reads all timers from the store. */
  load(): Promise<void>
  /** Makes `listDue` read the rows again, because the rows on disk may differ from those in memory. */
  invalidate(): void
  list(contract: Address): readonly TimerState[]
  /**
   * Plans the changes of timers that a call makes, with the new row of the timer that it ran. Changes nothing itself.
   */
  plan(contract: Address, effects: CallEffects['timers'], now: Date, endedTimer?: EndedTimer): TimerPlan
  /** Deletes the rows of ended timers whose time is over, at most {@link MAX_PURGED}. */
  purge(now: Date): Promise<void>
  /**
   * Returns the timers that have to run now, the longest overdue first, without those that are running or postponed.
   */
  listDue(now: Date): Promise<readonly TimerRow[]>
  markRunning(contract: Address, id: number, runs: boolean): void
  /**
   * Delays a timer in memory only, as its row stays the same: by a second, and by more each time until its row changes.
   */
  postpone(contract: Address, id: number): void
  get(contract: Address, id: number): TimerRow | undefined
  countScheduled(): number
}

interface CachedTimer {
  readonly row: TimerRow
  readonly version: number
}

const rowId = (contract: Address, id: number): string => `${contract}.${id}`

/**
 * Makes the book of an engine's timers. The caller calls `load` before anything else. `monotonicMs` returns the
 * monotonic time, in which a delay is measured.
 */
export function createTimerBook(store: EngineStore, monotonicMs: () => number): TimerBook {
  const timers = { cachedTimers: new Map<string, CachedTimer>(), postponed: createRetryList(LONGEST_UNCOUNTED_MS) }
  const { cachedTimers, postponed } = timers
  const runningIds = new Set<string>()
  let invalidations = 0
  let loadedInvalidations = 0
  const load = async (): Promise<void> => {
    const invalidationsBefore = invalidations
    await reload(cachedTimers, store)
    loadedInvalidations = invalidationsBefore
  }
  return {
    load,
    invalidate: () => {
      invalidations++
    },
    list: (contract) => timersOf(cachedTimers, contract).map((row) => timerStateOf(row, runningIds)),
    plan: (contract, effects, now, endedTimer) =>
      planChanges(timers, contract, rowsOfEffects(contract, effects, { cachedTimers, now }), endedTimer),
    purge: async (now) => {
      const deletions = planPurge(cachedTimers, now)
      if (deletions.length === 0) return
      await store.commit(deletions)
      await load()
    },
    listDue: async (now) => {
      if (loadedInvalidations < invalidations) await load()
      const isFree = (id: string): boolean => !runningIds.has(id) && !postponed.isWaiting(id, monotonicMs())
      const dueTimers = [...cachedTimers].filter(([id, { row }]) => isDue(row, now) && isFree(id))
      return dueTimers.map(([, { row }]) => row).sort((one, other) => one.at - other.at)
    },
    markRunning: (contract, id, runs) => {
      if (runs) runningIds.add(rowId(contract, id))
      else runningIds.delete(rowId(contract, id))
    },
    postpone: (contract, id) => void postponed.addFailure(rowId(contract, id), monotonicMs()),
    get: (contract, id) => cachedTimers.get(rowId(contract, id))?.row,
    countScheduled: () => countScheduled([...cachedTimers.values()].map(({ row }) => row)),
  }
}

function planPurge(cachedTimers: Map<string, CachedTimer>, now: Date): Change<EngineCollections>[] {
  const timers = [...cachedTimers].filter(([, { row }]) => row.status !== 'scheduled' && row.at <= now.getTime())
  return timers.slice(0, MAX_PURGED).map(([id, { version }]) => ({ delete: 'timer', id, version }))
}

function timersOf(cachedTimers: Map<string, CachedTimer>, contract: Address): TimerRow[] {
  return [...cachedTimers.values()]
    .map(({ row }) => row)
    .filter((row) => row.contract === contract)
    .sort((one, other) => one.id - other.id)
}

function timerStateOf({ contract, id, status }: TimerRow, runningIds: ReadonlySet<string>): TimerState {
  // A timer that was cancelled while its call waited does not run, so its status is not `running`.
  return { id, status: status === 'scheduled' && runningIds.has(rowId(contract, id)) ? 'running' : status }
}

function isDue({ status, at }: TimerRow, now: Date): boolean {
  return status === 'scheduled' && at <= now.getTime()
}

async function reload(cachedTimers: Map<string, CachedTimer>, store: EngineStore): Promise<void> {
  const timersBefore = new Map(cachedTimers)
  const rows = await store.listDue('timer', END_OF_TIME, Number.MAX_SAFE_INTEGER)
  const readTimers = new Map(rows.map((row) => [row.id, reuseUnchanged(row, timersBefore.get(row.id))] as const))
  // The read may have returned an old version of a row that was written meanwhile.
  const isNewer = ([id, each]: readonly [string, CachedTimer]): boolean =>
    timersBefore.get(id) !== each && each.version > (readTimers.get(id)?.version ?? NO_ROW_VERSION)
  const newerTimers = [...cachedTimers].filter(isNewer)
  cachedTimers.clear()
  for (const [id, each] of [...readTimers, ...newerTimers]) cachedTimers.set(id, each)
}

/** Returns the same object for an unchanged row, so that callers can compare rows by identity. */
function reuseUnchanged({ value, version }: DueRow<TimerRow>, timerBefore: CachedTimer | undefined): CachedTimer {
  return timerBefore?.version === version ? timerBefore : { row: value, version }
}

function planChanges(
  { cachedTimers, postponed }: { readonly cachedTimers: Map<string, CachedTimer>; readonly postponed: RetryList },
  contract: Address,
  rows: Map<number, TimerRow>,
  endedTimer: EndedTimer | undefined,
): TimerPlan {
  // If the call scheduled its own timer again, that row replaces the row after the run.
  if (endedTimer !== undefined && !rows.has(endedTimer.id)) rows.set(endedTimer.id, endedTimer.row)
  const timersBefore = [...cachedTimers.values()].filter(({ row }) => row.contract === contract)
  const untouchedTimers = timersBefore.filter(({ row }) => !rows.has(row.id))
  const rowsAfterwards = [...untouchedTimers.map(({ row }) => row), ...rows.values()]
  const scheduled = countScheduled(rowsAfterwards)
  const timersToDelete = rows.size === 0 ? [] : excessEndedTimers(rowsAfterwards, untouchedTimers)
  const newRows = [...rows.values()].map((row) => ({ row, timerBefore: cachedTimers.get(rowId(contract, row.id)) }))
  return {
    changes: [
      ...newRows.map(({ row, timerBefore }) => timerRowChange(row, timerBefore)),
      ...timersToDelete.map(({ row, version }) => ({ delete: 'timer', id: rowId(contract, row.id), version }) as const),
    ],
    scheduled,
    growth: scheduled - countScheduled(timersBefore.map(({ row }) => row)),
    apply: () => {
      for (const { row, timerBefore } of newRows) {
        cachedTimers.set(rowId(contract, row.id), { row, version: (timerBefore?.version ?? NO_ROW_VERSION) + 1 })
        postponed.delete(rowId(contract, row.id))
      }
      for (const { row } of timersToDelete) cachedTimers.delete(rowId(contract, row.id))
    },
  }
}

function countScheduled(rows: readonly TimerRow[]): number {
  return rows.filter(({ status }) => status === 'scheduled').length
}

/** Returns the oldest ended timers beyond {@link MAX_ENDED}. */
function excessEndedTimers(
  rowsAfterwards: readonly TimerRow[],
  untouchedTimers: readonly CachedTimer[],
): readonly CachedTimer[] {
  const excess = rowsAfterwards.filter(({ status }) => status !== 'scheduled').length - MAX_ENDED
  if (excess <= 0) return []
  const endedTimers = untouchedTimers.filter(({ row }) => row.status !== 'scheduled')
  return endedTimers.sort((one, other) => one.row.at - other.row.at).slice(0, excess)
}

/**
 * Returns the new row of each timer that the effects change; the last effect on a timer counts. An effect that cancels
 * a timer that is not scheduled changes nothing.
 */
function rowsOfEffects(
  contract: Address,
  effects: CallEffects['timers'],
  { cachedTimers, now }: { readonly cachedTimers: ReadonlyMap<string, CachedTimer>; readonly now: Date },
): Map<number, TimerRow> {
  const rows = new Map<number, TimerRow>()
  for (const effect of effects) {
    const { id } = effect
    const rowBefore = rows.get(id) ?? cachedTimers.get(rowId(contract, id))?.row
    if ('cancel' in effect) {
      if (rowBefore?.status === 'scheduled') rows.set(id, endedTimerRow(rowBefore, 'cancelled', now))
      continue
    }
    const payload = Buffer.from(effect.payload).toString('base64')
    const at = Math.min(now.getTime() + Math.max(0, effect.delayMs), END_OF_TIME.getTime())
    rows.set(id, { contract, id, payload, status: 'scheduled', at, attempts: 0 })
  }
  return rows
}

/** Returns the row of a timer that has ended, without its payload. */
export function endedTimerRow(row: TimerRow, status: 'done' | 'cancelled' | 'failed', now: Date): TimerRow {
  return { ...row, payload: '', status, at: now.getTime() + KEEP_ENDED_MS }
}

function timerRowChange(value: TimerRow, timerBefore: CachedTimer | undefined): Change<EngineCollections> {
  const id = rowId(value.contract, value.id)
  const dueAt = new Date(value.at)
  if (timerBefore === undefined) return { insert: 'timer', id, value, dueAt }
  return { update: 'timer', id, version: timerBefore.version, value, dueAt, erases: true }
}
