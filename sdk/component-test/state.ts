/** The engine that a test imagines: what it keeps, and how the outcome of a call changes it. */
import { backOffMs } from '../../src/async/back-off.ts'
import {
  CALL_RETRY,
  type Hook,
  type Host,
  isAccepted,
  ROUND_MS,
  type RunOutcome,
  type TimerState,
} from '../../src/component/runtime.ts'
import type { HttpResponseData } from '../../src/offchain/http-data.ts'
import type { Options, TestStorage } from './options.ts'

export interface Transaction {
  readonly payload: Uint8Array
  /** The gas; 0 for as much as the transaction needs. */
  readonly gas: bigint
}

export interface DueTimer {
  readonly id: number
  readonly payload: Uint8Array
  readonly done: () => void
  /** Schedules the timer again, or gives it up after too many failures. */
  readonly failed: () => void
}

export interface HarnessState {
  readonly storage: TestStorage
  readonly transactions: Transaction[]
  readonly log: string[]
  readonly block: { number: number; time: Date }
  now: Date
  readonly host: Host
  /** Takes the first timer of those that are due by then; the clock goes to its time. */
  readonly takeDue: (until: number) => DueTimer | undefined
  readonly timers: Map<number, Timer>
  readonly spent: Set<string>
}

interface Timer {
  status: TimerState['status']
  at: number
  attempts: number
  readonly payload: Uint8Array
}

/** Returns an empty storage, in memory. */
function memoryStorage(): TestStorage {
  const values = new Map<string, Uint8Array>()
  const name = (...parts: (string | Uint8Array)[]): string =>
    parts.map((part) => Buffer.from(part as string).toString('hex')).join('/')
  return {
    get: (bucket, key) => values.get(name(bucket, key)),
    set: (bucket, key, value) => {
      values.set(name(bucket, key), Buffer.from(value as string))
    },
    delete: (bucket, key) => {
      values.delete(name(bucket, key))
    },
    get size() {
      return values.size
    },
  }
}

export function createHarnessState({
  storage = memoryStorage(),
  now = new Date(1_700_000_000_000),
  ...options
}: Options): HarnessState {
  const timers = new Map<number, Timer>()
  const spent = new Set<string>()
  const nobody: HttpResponseData = { status: 600, headers: [], body: Buffer.from('the test has no fetch') }
  const state: HarnessState = {
    storage,
    transactions: [],
    log: [],
    block: { number: 1, time: now },
    now,
    timers,
    spent,
    host: {
      load: (bucket, key) => Promise.resolve(storage.get(bucket, key)),
      readContract: (input) => Promise.resolve(input).then(options.read ?? (() => refuseMissingOption('read'))),
      send: (request) => Promise.resolve(options.fetch?.(request) ?? nobody),
      getConfiguration: (key) => options.config?.[key],
      getGeneration: () => Promise.resolve(options.generation ?? 'first'),
      listTimers: () => Promise.resolve([...timers].map(([id, { status }]) => ({ id, status }))),
      isSpent: (id) => Promise.resolve(spent.has(id)),
    },
    takeDue: (until) => takeDue(state, until),
  }
  return state
}

function takeDue(state: HarnessState, until: number): DueTimer | undefined {
  const { timers, now } = state
  const scheduled = [...timers].filter(([, { status, at }]) => status === 'scheduled' && at <= until)
  const [first] = scheduled.sort(([, one], [, other]) => one.at - other.at)
  if (first === undefined) return undefined
  const [id, timer] = first
  timer.status = 'running'
  state.now = new Date(Math.max(timer.at, now.getTime()))
  const unlessScheduledAnew = (change: () => void) => (): void => {
    if (timers.get(id) === timer) change()
  }
  return {
    id,
    payload: timer.payload,
    done: unlessScheduledAnew(() => {
      timer.status = 'done'
    }),
    failed: unlessScheduledAnew(() => planRetry(timer, state.now)),
  }
}

function planRetry(timer: Timer, now: Date): void {
  timer.attempts++
  timer.status = timer.attempts < CALL_RETRY.maxAttempts ? 'scheduled' : 'failed'
  timer.at = now.getTime() + backOffMs(CALL_RETRY, timer.attempts)
}

function refuseMissingOption(option: string): never {
  throw new Error(`the component asks, and the test has no ${option}`)
}

/** Applies what a call would change. Throws when it came to no good end; then nothing has changed. */
export function applyOutcome(
  state: HarnessState,
  hook: Hook['kind'],
  outcome: RunOutcome,
): HttpResponseData | undefined {
  if (outcome.kind === 'deadline') throw new Error('deadline: the component did not come to an end')
  if (outcome.kind === 'overloaded') throw new Error('overloaded: no worker was free in time')
  if (outcome.kind === 'stopped') throw new Error('stopped: the harness was closed')
  if (outcome.kind !== 'done') {
    state.log.push(...outcome.log)
    // The functions of the test stand for an engine, and an error of theirs is shown as the reason of the call.
    if (outcome.kind === 'outage')
      throw new Error(`trap: ${(outcome.error as Error).message}`, { cause: outcome.error })
    throw new Error(`${outcome.kind}: ${outcome.message}`)
  }
  const { response, effects } = outcome
  for (const { bucket, key, value } of effects.storage) {
    if (value === undefined) state.storage.delete(bucket, key)
    else state.storage.set(bucket, key, value)
  }
  state.transactions.push(...effects.transactions)
  state.log.push(...effects.log)
  for (const timer of effects.timers) applyTimer(state, timer, hook === 'timer' ? ROUND_MS : 0)
  for (const request of effects.spentRequests) {
    if (isAccepted(request, response?.status)) state.spent.add(request.id)
  }
  return response
}

type TimerEffect = Extract<RunOutcome, { kind: 'done' }>['effects']['timers'][number]

function applyTimer({ timers, now }: HarnessState, timer: TimerEffect, leastMs: number): void {
  const scheduled = timers.get(timer.id)
  if (!('cancel' in timer)) {
    const at = now.getTime() + Math.max(leastMs, timer.delayMs)
    timers.set(timer.id, { status: 'scheduled', at, attempts: 0, payload: timer.payload })
  } else if (scheduled?.status === 'scheduled') scheduled.status = 'cancelled'
}
