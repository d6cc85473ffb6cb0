/**
 * The scheduler of calls. It prevents one contract from taking the workers from others, by many calls or by slow ones,
 * and prevents background calls from taking them from requests.
 */

export interface WorkerScheduler {
  /**
   * Returns the index of the next call in `waiting`, or -1 when none may begin now:
   *
   * - The owner that holds the fewest workers is next; of two that hold as many, one that is not slow.
   * - An owner computes on at most `workers` at once; a slow owner on one less, but on one at least.
   * - An owner gets no further worker when it holds as many, also by waiting for answers, as are left for all others.
   * - Background calls compute on at most `workers`, so that requests have the spare workers; those of slow owners on
   *   one less, but on one at least, so that hooks and timers of other owners do not wait for them.
   */
  readonly findNext: (waiting: readonly OwnedItem[], heldWorkers: Iterable<HeldWorker>) => number
  /** Records for how many milliseconds a call of `owner` computed; called at its end. */
  readonly noteTime: (owner: string, ms: number) => void
}

export interface OwnedItem {
  readonly owner: string
  /** Whether no client waits for the result, such as that of a state change or a timer. */
  readonly isBackground: boolean
}

export interface HeldWorker extends OwnedItem {
  /** Whether the worker computes; false while it waits for an answer of the engine. */
  readonly computes: boolean
}

/** The computing time from which a call counts as slow. */
const SLOW_MS = 250
/** The time for which an owner counts as slow after a slow call. */
const SLOW_FOR_MS = 60_000
/** The most workers as a multiple of `workers`, including those that wait for an answer of the engine. */
const ASLEEP_FACTOR = 4

/** Returns the most workers of a pool in which `workers` compute. */
export function maxWorkers(workers: number): number {
  return workers * ASLEEP_FACTOR
}

interface Count {
  all: number
  computing: number
}

const NONE: Count = { all: 0, computing: 0 }

/** Makes a scheduler for `workers` computing workers. The clock `now` returns milliseconds, and never goes back. */
export function createScheduler(workers: number, now: () => number): WorkerScheduler {
  const slowUntil = new Map<string, number>()
  return {
    findNext: (waiting, heldWorkers) => {
      const held = [...heldWorkers]
      const counts = countWorkers(held)
      const time = now()
      const isSlow = (owner: string): boolean => (slowUntil.get(owner) ?? 0) > time
      const freeWorkers = maxWorkers(workers) - held.length
      const inBackground = held.filter(({ isBackground, computes }) => isBackground && computes)
      const slowInBackground = inBackground.filter(({ owner }) => isSlow(owner)).length
      const isBackgroundFull = (owner: string): boolean =>
        inBackground.length >= workers || (isSlow(owner) && slowInBackground >= Math.max(1, workers - 1))
      const hasEnough = (owner: string, { all, computing }: Count): boolean =>
        computing >= workers || all >= freeWorkers || (computing > 0 && computing >= workers - 1 && isSlow(owner))
      let best = -1
      let least = Number.POSITIVE_INFINITY
      for (const [index, { owner, isBackground }] of waiting.entries()) {
        if (isBackground && isBackgroundFull(owner)) continue
        const count = counts.get(owner) ?? NONE
        const rank = count.all + (isSlow(owner) ? 0.5 : 0)
        if (rank >= least || hasEnough(owner, count)) continue
        best = index
        least = rank
        if (least === 0) break
      }
      return best
    },
    noteTime: (owner, ms) => {
      if (ms < SLOW_MS) return
      for (const [each, until] of slowUntil) if (until <= now()) slowUntil.delete(each)
      slowUntil.set(owner, now() + SLOW_FOR_MS)
    },
  }
}

function countWorkers(heldWorkers: Iterable<HeldWorker>): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const { owner, computes } of heldWorkers) {
    const count = counts.get(owner) ?? { ...NONE }
    count.all++
    if (computes) count.computing++
    counts.set(owner, count)
  }
  return counts
}
