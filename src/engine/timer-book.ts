/** The timers of all contracts: rows of the store, and what is known of them in memory, since no other process has them. */
import type { CallEffects, TimerState } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { Change, DueRow } from '../store/store.ts'
import { type EngineCollections, type EngineStore, FAR, type TimerRow } from './collections.ts'

/** How long it is told of a timer what became of it, and of how many of a contract: those that were over last. */
const REMEMBERED_MS = 24 * 3_600_000
const MOST_REMEMBERED = 64

export interface TimerPlan {
  readonly changes: readonly Change<EngineCollections>[]
  /** To be called once the changes are on disk. */
  readonly apply: () => void
  /** Those of the contract that will be scheduled, and how many more these are. */
  readonly scheduled: number
  readonly growth: number
}

/** What became of a timer that has run. */
export interface EndedTimer {
  readonly id: number
  readonly row: TimerRow
}

export interface TimerBook {
  /** Reads them all anew. */
  load(): Promise<void>
  /** What is on disk may be other than what is known: it is read anew before it is said again which are due. */
  doubt(): void
  of(contract: Address): readonly TimerState[]
  plan(contract: Address, effects: CallEffects['timers'], now: Date, ended?: EndedTimer): TimerPlan
  /** Those that are to run, longest due first. */
  due(now: Date): Promise<readonly TimerRow[]>
  running(contract: Address, id: number, runs: boolean): void
  /** It is not due before: of one whose row says nothing of it, as it could not be written. */
  postpone(contract: Address, id: number, until: Date): void
  get(contract: Address, id: number): TimerRow | undefined
  scheduled(): number
}

interface Known {
  readonly row: TimerRow
  readonly version: number
}

const rowId = (contract: Address, id: number): string => `${contract}.${id}`

export function createTimerBook(store: EngineStore): TimerBook {
  const known = new Map<string, Known>()
  const running = new Set<string>()
  const postponed = new Map<string, Date>()
  let doubts = 0
  let settled = 0
  const load = async (): Promise<void> => {
    const asked = doubts
    await readInto(known, store)
    settled = asked
  }
  return {
    load,
    doubt: () => {
      doubts++
    },
    of: (contract) =>
      ofContract(known, contract).map(({ id, status }) => ({
        id,
        // One that was cancelled while its run waited for its turn is not run.
        status: status === 'scheduled' && running.has(rowId(contract, id)) ? 'running' : status,
      })),
    plan: (contract, effects, now, ended) =>
      planOf(known, contract, wantedRows(contract, effects, { known, now }), ended),
    due: async (now) => {
      if (settled < doubts) await load()
      const due = [...known].filter(
        ([id, { row }]) => isDue(row, now) && !running.has(id) && !isBefore(postponed, id, now),
      )
      return due.map(([, { row }]) => row).sort((one, other) => one.at - other.at)
    },
    running: (contract, id, runs) => {
      if (runs) running.add(rowId(contract, id))
      else running.delete(rowId(contract, id))
    },
    postpone: (contract, id, until) => postponed.set(rowId(contract, id), until),
    get: (contract, id) => known.get(rowId(contract, id))?.row,
    scheduled: () => countScheduled([...known.values()].map(({ row }) => row)),
  }
}

function ofContract(known: Map<string, Known>, contract: Address): TimerRow[] {
  return [...known.values()]
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

async function readInto(known: Map<string, Known>, store: EngineStore): Promise<void> {
  const before = new Map(known)
  const rows = await store.due('timer', FAR, Number.MAX_SAFE_INTEGER)
  const read = new Map(rows.map((row) => [row.id, unlessSame(row, before.get(row.id))] as const))
  // What was written meanwhile may have been read as it was before.
  const isNewer = ([id, each]: readonly [string, Known]): boolean =>
    before.get(id) !== each && each.version > (read.get(id)?.version ?? -1)
  const meanwhile = [...known].filter(isNewer)
  known.clear()
  for (const [id, each] of [...read, ...meanwhile]) known.set(id, each)
}

/** Who holds a row sees by itself whether it is still the one. */
function unlessSame({ value, version }: DueRow<TimerRow>, before: Known | undefined): Known {
  return before?.version === version ? before : { row: value, version }
}

function planOf(
  known: Map<string, Known>,
  contract: Address,
  wanted: Map<number, TimerRow>,
  ended: EndedTimer | undefined,
): TimerPlan {
  // What ran and scheduled itself anew is scheduled.
  if (ended !== undefined && !wanted.has(ended.id)) wanted.set(ended.id, ended.row)
  const now = [...known.values()].filter(({ row }) => row.contract === contract)
  const untouched = now.filter(({ row }) => !wanted.has(row.id))
  const after = [...untouched.map(({ row }) => row), ...wanted.values()]
  const scheduled = countScheduled(after)
  const forgotten = wanted.size === 0 ? [] : tooManyOver(after, untouched)
  const written = [...wanted.values()].map((row) => ({ row, before: known.get(rowId(contract, row.id)) }))
  return {
    changes: [
      ...written.map(({ row, before }) => changeOf(row, before)),
      ...forgotten.map(({ row, version }) => ({ delete: 'timer', id: rowId(contract, row.id), version }) as const),
    ],
    scheduled,
    growth: scheduled - countScheduled(now.map(({ row }) => row)),
    apply: () => {
      for (const { row, before } of written) {
        known.set(rowId(contract, row.id), { row, version: (before?.version ?? -1) + 1 })
      }
      for (const { row } of forgotten) known.delete(rowId(contract, row.id))
    },
  }
}

function countScheduled(rows: readonly TimerRow[]): number {
  return rows.filter(({ status }) => status === 'scheduled').length
}

/** Of timers that are over, those that were so first, where there are more than are remembered. */
function tooManyOver(after: readonly TimerRow[], untouched: readonly Known[]): readonly Known[] {
  const excess = after.filter(({ status }) => status !== 'scheduled').length - MOST_REMEMBERED
  if (excess <= 0) return []
  const over = untouched.filter(({ row }) => row.status !== 'scheduled')
  return over.sort((one, other) => one.row.at - other.row.at).slice(0, excess)
}

/** The last thing that was said of each timer. To cancel one that is not scheduled changes nothing. */
function wantedRows(
  contract: Address,
  effects: CallEffects['timers'],
  { known, now }: { readonly known: ReadonlyMap<string, Known>; readonly now: Date },
): Map<number, TimerRow> {
  const wanted = new Map<number, TimerRow>()
  for (const effect of effects) {
    const { id } = effect
    const before = wanted.get(id) ?? known.get(rowId(contract, id))?.row
    if ('cancel' in effect) {
      if (before?.status === 'scheduled') wanted.set(id, over(before, 'cancelled', now))
      continue
    }
    const payload = Buffer.from(effect.payload).toString('base64')
    const at = Math.min(now.getTime() + Math.max(0, effect.delayMs), FAR.getTime())
    wanted.set(id, { contract, id, payload, status: 'scheduled', at, attempts: 0 })
  }
  return wanted
}

/** A timer that will not run any more. */
export function over(row: TimerRow, status: 'done' | 'cancelled' | 'failed', now: Date): TimerRow {
  return { ...row, payload: '', status, at: now.getTime() + REMEMBERED_MS }
}

function changeOf(value: TimerRow, before: Known | undefined): Change<EngineCollections> {
  const id = rowId(value.contract, value.id)
  const dueAt = new Date(value.at)
  if (before === undefined) return { insert: 'timer', id, value, dueAt }
  return { update: 'timer', id, version: before.version, value, dueAt, erases: true }
}

/** Takes away what need not be told any more. */
export async function forgetTimers(store: EngineStore, book: TimerBook, now: Date): Promise<void> {
  const rows = await store.due('timer', now, 1000)
  const old = rows.filter(({ value }) => value.status !== 'scheduled')
  if (old.length === 0) return
  await store.commit(old.map(({ id, version }) => ({ delete: 'timer', id, version }) as const))
  await book.load()
}
