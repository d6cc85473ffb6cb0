/** Work that was started and that nobody waits for: it runs beside the requests, and is waited for at the end alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { limitConcurrency } from '../async/limit.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'

export interface BackgroundTask {
  readonly what: string
  readonly entry: ContractEntry
  readonly run: () => Promise<void>
  /** Is told when it was added, though it may begin later, and when it is over, however it ended. */
  readonly running: (runs: boolean) => unknown
}

export interface TaskRunner {
  add(work: BackgroundTask): void
  /** Calls of components. Contracts begin one after another, bit by bit, so that requests pass in between. */
  addCalls(calls: readonly BackgroundTask[]): void
  /** Resolves when no task runs any more. */
  readonly settled: () => Promise<void>
  isStopped(): boolean
  /** Calls whose turn comes later are not made. */
  readonly stop: () => void
}

const CALLS_AT_ONCE = 2
const LONG_CALL_MS = 50

/** Makes a runner of background tasks, in which calls that are added together begin within `everyMs`. */
export function createTaskRunner({ log }: Pick<EngineContext, 'log'>, everyMs: number): TaskRunner {
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  const inTurn = turnsOf(stopping.signal)
  const add = ({ what, entry, run, running: tell }: BackgroundTask): void => {
    tell(true)
    const promise = run()
      .catch((err: unknown) => {
        log.error({ event: 'background_failed', what, contract: entry.address, err }, 'tried again later')
      })
      .finally(() => {
        tell(false)
        running.delete(promise)
      })
    running.add(promise)
  }
  return {
    add,
    addCalls: (calls) => {
      const contracts = new Set(calls.map(({ entry }) => entry))
      const begin = new Map([...contracts].map((entry, at) => [entry, (at * everyMs) / contracts.size]))
      for (const call of calls) {
        const { entry, run } = call
        add({ ...call, run: () => inTurn(entry, begin.get(entry) ?? 0, run) })
      }
    },
    settled: async () => {
      while (running.size > 0) await Promise.all(running)
    },
    isStopped: () => stopping.signal.aborted,
    stop: () => stopping.abort(),
  }
}

/**
 * Makes the function that gives turns to calls. At most one call of each contract waits for its turn, so that no
 * contract can starve another.
 */
function turnsOf(stopping: AbortSignal) {
  const inPassing = limitConcurrency(CALLS_AT_ONCE, LONG_CALL_MS)
  const lastOf = new WeakMap<ContractEntry, Promise<unknown>>()
  return (entry: ContractEntry, afterMs: number, run: () => Promise<void>): Promise<void> => {
    const before = lastOf.get(entry)
    const due = afterMs > 0 ? sleep(afterMs, undefined, { signal: stopping }).catch(() => undefined) : undefined
    const unlessStopped = (): Promise<void> => (stopping.aborted ? Promise.resolve() : run())
    const promise = Promise.all([before, due]).then(() => inPassing(unlessStopped))
    lastOf.set(
      entry,
      promise.catch(() => undefined),
    )
    return promise
  }
}
