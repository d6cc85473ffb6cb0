/** Runs background jobs beside the requests. Only the stop of the engine waits for their end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { limitConcurrency, serialQueue } from '../async/concurrency.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'

export interface BackgroundJob {
  readonly what: string
  readonly entry: ContractEntry
  readonly run: () => Promise<void>
  /**
   * Called with true when the job is added, although it may begin later, and with false when it has ended or failed.
   */
  readonly markRunning: (runs: boolean) => unknown
}

export interface JobRunner {
  add(work: BackgroundJob): void
  /**
   * Adds calls of components. The calls of different contracts begin at different times of a round, so that requests
   * run in between.
   */
  addCalls(calls: readonly BackgroundJob[]): void
  /** Resolves when no job runs or waits for its turn. */
  readonly waitUntilIdle: () => Promise<void>
  isStopped(): boolean
  /** Stops the runner. Calls that have not begun are dropped. */
  readonly stop: () => void
}

const CALLS_AT_ONCE = 2
const LONG_CALL_MS = 50

/** Makes a runner of background jobs. Calls that are added together begin within `everyMs` milliseconds. */
export function createJobRunner({ log }: Pick<EngineContext, 'log'>, everyMs: number): JobRunner {
  const runningJobs = new Set<Promise<void>>()
  const stopping = new AbortController()
  const takeTurn = createTurnTaker(stopping.signal)
  const add = ({ what, entry, run, markRunning }: BackgroundJob): void => {
    markRunning(true)
    const promise = run()
      .catch((err: unknown) => {
        log.error(
          { event: 'background_failed', what, contract: entry.address, err },
          'a background job failed, and is tried again later',
        )
      })
      .finally(() => {
        markRunning(false)
        runningJobs.delete(promise)
      })
    runningJobs.add(promise)
  }
  return {
    add,
    addCalls: (calls) => {
      const contracts = new Set(calls.map(({ entry }) => entry))
      const delays = new Map([...contracts].map((entry, at) => [entry, (at * everyMs) / contracts.size]))
      for (const call of calls) {
        const { entry, run } = call
        add({ ...call, run: () => takeTurn(entry, delays.get(entry) ?? 0, run) })
      }
    },
    waitUntilIdle: async () => {
      while (runningJobs.size > 0) await Promise.all(runningJobs)
    },
    isStopped: () => stopping.signal.aborted,
    stop: () => stopping.abort(),
  }
}

/**
 * Makes the function that runs calls in turn, a few at once. Calls of one contract run one after another, so that no
 * contract can starve another. Calls whose turn comes after the stop do not run.
 */
function createTurnTaker(stopping: AbortSignal) {
  const runLimited = limitConcurrency(CALLS_AT_ONCE, LONG_CALL_MS)
  const queues = new WeakMap<ContractEntry, ReturnType<typeof serialQueue>>()
  return (entry: ContractEntry, afterMs: number, run: () => Promise<void>): Promise<void> => {
    const queue = queues.get(entry) ?? serialQueue()
    queues.set(entry, queue)
    const delay = afterMs > 0 ? sleep(afterMs, undefined, { signal: stopping }).catch(() => undefined) : undefined
    const runUnlessStopped = (): Promise<void> => (stopping.aborted ? Promise.resolve() : run())
    return queue(async () => {
      await delay
      return runLimited(runUnlessStopped)
    })
  }
}
