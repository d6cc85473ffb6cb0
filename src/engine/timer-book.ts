/** The timers of all contracts: rows of the store, cached in memory, since no other process has them. */
import type { CallEffects, TimerState } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { Change, DueRow } from '../store/store.ts'
import { type EngineCollections, type EngineStore, FAR, type TimerRow } from './collections.ts'

/** The time for which the status of a timer that is over is kept. */
const REMEMBERED_MS = 24 * 3_600_000
/** The most timers of a contract that are kept when they are over: those that ended last. */
const MOST_REMEMBERED = 64

export interface TimerPlan {
  readonly changes: readonly Change<EngineCollections>[]
  /** Applies the plan in memory, once the changes are on disk. */
  readonly apply: () => void
  /** The number of timers of the contract that will be scheduled, and how many more these are. */
  readonly scheduled: number
  readonly growth: number
}

/** A timer that has run, with its new row. */
export interface EndedTimer {
  readonly id: number
  readonly row: TimerRow
}

export interface TimerBook {
  /** Reads them all anew. */
  load(): Promise<void>
  /** Has the rows read again before any timer is due, when those on disk may differ from those in memory. */
  doubt(): void
  of(contract: Address): readonly TimerState[]
  plan(contract: Address, effects: CallEffects['timers'], now: Date, ended?: EndedTimer): TimerPlan
  /** Returns the timers that are to run, longest due first. */
  due(now: Date): Promise<readonly TimerRow[]>
  running(contract: Address, id: number, runs: boolean): void
  /** Delays a timer in memory when the new due time could not be stored. */
  postpone(contract: Address, id: number, until: Date): void
  get(contract: Address, id: number): TimerRow | undefined
  scheduled(): number
}

interface CachedTimer {
  readonly row: TimerRow
  readonly version: number
}

const rowId = (contract: Address, id: number): string => `${contract}.${id}`

export function createTimerBook(store: EngineStore): TimerBook {
  const cached = new Map<string, CachedTimer>()
  const running = new Set<string>()
  const postponed = new Map<string, Date>()
  let doubts = 0
  let settled = 0
  const load = async (): Promise<void> => {
    const doubtsBefore = doubts
    await readInto(cached, store)
    settled = doubtsBefore
  }
  return {
    load,
    doubt: () => {
      doubts++
    },
    of: (contract) =>
      ofContract(cached, contract).map(({ id, status }) => ({
        id,
        // A timer that was cancelled while its run waited is not run.
        status: status === 'scheduled' && running.has(rowId(contract, id)) ? 'running' : status,
      })),
    plan: (contract, effects, now, ended) =>
      planOf(cached, contract, rowsAfter(contract, effects, { cached, now }), ended),
    due: async (now) => {
      if (settled < doubts) await load()
      const due = [...cached].filter(
        ([id, { row }]) => isDue(row, now) && !running.has(id) && !isBefore(postponed, id, now),
      )
      return due.map(([, { row }]) => row).sort((one, other) => one.at - other.at)
    },
    running: (contract, id, runs) => {
      if (runs) running.add(rowId(contract, id))
      else running.delete(rowId(contract, id))
    },
    postpone: (contract, id, until) => postponed.set(rowId(contract, id), until),
    get: (contract, id) => cached.get(rowId(contract, id))?.row,
    scheduled: () => countScheduled([...cached.values()].map(({ row }) => row)),
  }
}

function ofContract(cached: Map<string, CachedTimer>, contract: Address): TimerRow[] {
  return [...cached.values()]
    .map(({ row }) => row)
    .filter((row) => row.contract === contract)
    .sort((one, other) => one.id - other.id)
}

function isBefore(postponed: Map<string, Date>, id: string, now: Date): boolean {
  const until = postponed.get(id)
  if (until !== undefined && until > now) return true
  postponed.delete(id)
  return false
}

function isDue({ status, at }: TimerRow, now: Date): boolean {
  return status === 'scheduled' && at <= now.getTime()
}

async function readInto(cached: Map<string, CachedTimer>, store: EngineStore): Promise<void> {
  const before = new Map(cached)
  const rows = await store.due('timer', FAR, Number.MAX_SAFE_INTEGER)
  const read = new Map(rows.map((row) => [row.id, unlessSame(row, before.get(row.id))] as const))
  // A row that was written during the read may have been read as it was before.
  const isNewer = ([id, each]: readonly [string, CachedTimer]): boolean =>
    before.get(id) !== each && each.version > (read.get(id)?.version ?? -1)
  const meanwhile = [...cached].filter(isNewer)
  cached.clear()
  for (const [id, each] of [...read, ...meanwhile]) cached.set(id, each)
}

/** Keeps the same object for an unchanged row, so that holders can compare rows by identity. */
function unlessSame({ value, version }: DueRow<TimerRow>, before: CachedTimer | undefined): CachedTimer {
  return before?.version === version ? before : { row: value, version }
}

function planOf(
  cached: Map<string, CachedTimer>,
  contract: Address,
  rows: Map<number, TimerRow>,
  ended: EndedTimer | undefined,
): TimerPlan {
  // A timer that ran and scheduled itself anew is scheduled.
  if (ended !== undefined && !rows.has(ended.id)) rows.set(ended.id, ended.row)
  const now = [...cached.values()].filter(({ row }) => row.contract === contract)
  const untouched = now.filter(({ row }) => !rows.has(row.id))
  const after = [...untouched.map(({ row }) => row), ...rows.values()]
  const scheduled = countScheduled(after)
  const forgotten = rows.size === 0 ? [] : tooManyOver(after, untouched)
  const written = [...rows.values()].map((row) => ({ row, before: cached.get(rowId(contract, row.id)) }))
  return {
    changes: [
      ...written.map(({ row, before }) => changeOf(row, before)),
      ...forgotten.map(({ row, version }) => ({ delete: 'timer', id: rowId(contract, row.id), version }) as const),
    ],
    scheduled,
    growth: scheduled - countScheduled(now.map(({ row }) => row)),
    apply: () => {
      for (const { row, before } of written) {
        cached.set(rowId(contract, row.id), { row, version: (before?.version ?? -1) + 1 })
      }
      for (const { row } of forgotten) cached.delete(rowId(contract, row.id))
    },
  }
}

function countScheduled(rows: readonly TimerRow[]): number {
  return rows.filter(({ status }) => status === 'scheduled').length
}

/** Returns the oldest timers that are over, where there are more than are kept. */
function tooManyOver(after: readonly TimerRow[], untouched: readonly CachedTimer[]): readonly CachedTimer[] {
  const excess = after.filter(({ status }) => status !== 'scheduled').length - MOST_REMEMBERED
  if (excess <= 0) return []
  const over = untouched.filter(({ row }) => row.status !== 'scheduled')
  return over.sort((one, other) => one.row.at - other.row.at).slice(0, excess)
}

/**
 * Returns the rows that the effects ask for, the last of each timer. To cancel a timer that is not scheduled changes
 * nothing.
 */
function rowsAfter(
  contract: Address,
  effects: CallEffects['timers'],
  { cached, now }: { readonly cached: ReadonlyMap<string, CachedTimer>; readonly now: Date },
): Map<number, TimerRow> {
  const rows = new Map<number, TimerRow>()
  for (const effect of effects) {
    const { id } = effect
    const before = rows.get(id) ?? cached.get(rowId(contract, id))?.row
    if ('cancel' in effect) {
      if (before?.status === 'scheduled') rows.set(id, over(before, 'cancelled', now))
      continue
    }
    const payload = Buffer.from(effect.payload).toString('base64')
    const at = Math.min(now.getTime() + Math.max(0, effect.delayMs), FAR.getTime())
    rows.set(id, { contract, id, payload, status: 'scheduled', at, attempts: 0 })
  }
  return rows
}

/** Returns a timer that will not run any more. */
export function over(row: TimerRow, status: 'done' | 'cancelled' | 'failed', now: Date): TimerRow {
  return { ...row, payload: '', status, at: now.getTime() + REMEMBERED_MS }
}

function changeOf(value: TimerRow, before: CachedTimer | undefined): Change<EngineCollections> {
  const id = rowId(value.contract, value.id)
  const dueAt = new Date(value.at)
  if (before === undefined) return { insert: 'timer', id, value, dueAt }
  return { update: 'timer', id, version: before.version, value, dueAt, erases: true }
}

/** Deletes timers that are over and were remembered for long enough. */
export async function forgetTimers(store: EngineStore, book: TimerBook, now: Date): Promise<void> {
  const rows = await store.due('timer', now, 1000)
  const old = rows.filter(({ value }) => value.status !== 'scheduled')
  if (old.length === 0) return
  await store.commit(old.map(({ id, version }) => ({ delete: 'timer', id, version }) as const))
  await book.load()
}
