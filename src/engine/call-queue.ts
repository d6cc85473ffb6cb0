/**
 * The queue of calls of one contract: a limited number run at once, and a limited number wait. Calls that change
 * something run one at a time, in the order of arrival; calls that only read run beside them.
 */

export interface CallQueue {
  /**
   * Runs `work` when there is room, and tells it for how many milliseconds more it may wait for something else.
   * The result is `overloaded` when too many calls wait already, or `queueSeconds` after the call began to wait. A call
   * that runs `again` goes in front of all that wait.
   */
  run<T>(mode: CallMode, work: (leftMs: number) => Promise<T>, again?: boolean): Promise<T | QueueRefusal>
  queued(): number
}

export interface QueueRefusal {
  readonly kind: 'overloaded'
}

export type CallMode = 'shared' | 'serial'

export interface CallQueueLimits {
  readonly concurrent: number
  readonly queued: number
  readonly queueSeconds: number
}

interface Waiting {
  readonly mode: CallMode
  readonly start: () => void
}

interface QueueState {
  readonly limits: CallQueueLimits
  readonly waiting: Waiting[]
  running: number
  isWriting: boolean
}

export function createCallQueue(limits: CallQueueLimits): CallQueue {
  const state: QueueState = { limits, waiting: [], running: 0, isWriting: false }
  const patienceMs = limits.queueSeconds * 1000
  return {
    queued: () => state.waiting.length,
    run: async (mode, work, again = false) => {
      const since = performance.now()
      const waits = !mayStart(state, mode)
      if (!waits) take(state, mode)
      else if (!(await waitForPlace(state, mode, again))) return { kind: 'overloaded' }
      try {
        return await work(waits ? Math.max(0, patienceMs - (performance.now() - since)) : patienceMs)
      } finally {
        leave(state, mode)
      }
    },
  }
}

function mayStart({ limits, running, isWriting }: QueueState, mode: CallMode): boolean {
  return running < limits.concurrent && !(mode === 'serial' && isWriting)
}

function take(state: QueueState, mode: CallMode): void {
  state.running++
  if (mode === 'serial') state.isWriting = true
}

/** Gives the place of a call that has ended to those that wait. */
function leave(state: QueueState, mode: CallMode): void {
  state.running--
  if (mode === 'serial') state.isWriting = false
  const { waiting } = state
  const next = () => waiting.findIndex((each) => mayStart(state, each.mode))
  for (let index = next(); index !== -1; index = next()) waiting.splice(index, 1)[0]?.start()
}

/** Resolves with true when a place is taken for the caller, and with false when there is none in time. */
function waitForPlace(state: QueueState, mode: CallMode, again: boolean): Promise<boolean> {
  const { waiting, limits } = state
  if (!again && waiting.length >= limits.queued) return Promise.resolve(false)
  return new Promise((resolve) => {
    const item: Waiting = {
      mode,
      start: () => {
        clearTimeout(timer)
        take(state, mode)
        resolve(true)
      },
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(item), 1)
      resolve(false)
    }, limits.queueSeconds * 1000)
    if (again) waiting.unshift(item)
    else waiting.push(item)
  })
}
