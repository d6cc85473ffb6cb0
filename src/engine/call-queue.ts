/**
 * The queue of calls of one contract. The numbers of running and of waiting calls are limited. Calls that write run one
 * at a time, in the order of arrival; calls that only read run beside them.
 */

export interface CallQueue {
  /**
   * Runs `work` when there is room, and passes it the milliseconds for which the call may still wait for a worker.
   * Returns `overloaded` when too many calls wait already, or when the call has waited for `queueSeconds`. A call
   * with `goesFirst` goes to the front of the queue, also when the queue is full: one that runs again, and one that no
   * client waits for, which requests of strangers must not hold up.
   */
  run<T>(mode: CallMode, work: (leftMs: number) => Promise<T>, goesFirst?: boolean): Promise<T | QueueRefusal>
  countWaiting(): number
}

export interface QueueRefusal {
  readonly kind: 'overloaded'
  /** The limit that refused the call. */
  readonly limit: 'queued' | 'queueSeconds'
}

/** The mode of a call: `serial` calls may write, and run one at a time; `shared` calls only read. */
export type CallMode = 'shared' | 'serial'

export interface CallQueueLimits {
  readonly concurrent: number
  readonly queued: number
  readonly queueSeconds: number
}

interface WaitingCall {
  readonly mode: CallMode
  readonly start: () => void
}

interface QueueState {
  readonly limits: CallQueueLimits
  readonly waiting: WaitingCall[]
  running: number
  isWriting: boolean
}

/** Makes the queue of one contract. */
export function createCallQueue(limits: CallQueueLimits): CallQueue {
  const state: QueueState = { limits, waiting: [], running: 0, isWriting: false }
  const patienceMs = limits.queueSeconds * 1000
  return {
    countWaiting: () => state.waiting.length,
    run: async (mode, work, goesFirst = false) => {
      const since = performance.now()
      const mustWait = !mayStart(state, mode)
      if (mustWait) {
        const limit = await waitForPlace(state, mode, goesFirst)
        if (limit !== undefined) return { kind: 'overloaded', limit }
      } else takePlace(state, mode)
      try {
        return await work(mustWait ? Math.max(0, patienceMs - (performance.now() - since)) : patienceMs)
      } finally {
        freePlace(state, mode)
      }
    },
  }
}

function mayStart({ limits, running, isWriting }: QueueState, mode: CallMode): boolean {
  return running < limits.concurrent && !(mode === 'serial' && isWriting)
}

function takePlace(state: QueueState, mode: CallMode): void {
  state.running++
  if (mode === 'serial') state.isWriting = true
}

/** Releases the place of a call that has ended, and starts the waiting calls for which there is room. */
function freePlace(state: QueueState, mode: CallMode): void {
  state.running--
  if (mode === 'serial') state.isWriting = false
  const { waiting } = state
  const findNext = () => waiting.findIndex((each) => mayStart(state, each.mode))
  for (let index = findNext(); index !== -1; index = findNext()) waiting.splice(index, 1)[0]?.start()
}

/**
 * Waits for a place and takes it. Resolves to undefined, or to the exceeded limit when the queue is full or no place
 * becomes free in time.
 */
function waitForPlace(
  state: QueueState,
  mode: CallMode,
  goesFirst: boolean,
): Promise<QueueRefusal['limit'] | undefined> {
  const { waiting, limits } = state
  if (!goesFirst && waiting.length >= limits.queued) return Promise.resolve('queued')
  return new Promise((resolve) => {
    const call: WaitingCall = {
      mode,
      start: () => {
        clearTimeout(timer)
        takePlace(state, mode)
        resolve(undefined)
      },
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(call), 1)
      resolve('queueSeconds')
    }, limits.queueSeconds * 1000)
    if (goesFirst) waiting.unshift(call)
    else waiting.push(call)
  })
}
