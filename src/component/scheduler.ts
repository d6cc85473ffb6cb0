/**
 * A scheduler that chooses the next call, so that no contract takes the workers from the others, neither by many calls
 * nor by slow ones.
 */

export interface WorkerScheduler {
  /**
   * Returns the index of the next call: the first of the owner that holds the fewest workers. An owner computes on no
   * more than `workers` at once, and on one less when its calls computed for long (but always on one). Together with
   * the workers that wait for an answer an owner holds no more than are left for all others, so that each owner leaves
   * workers to the next. Returns -1 where all that wait belong to owners that have enough.
   */
  readonly findNext: (waiting: readonly OwnedItem[], heldWorkers: Iterable<HeldWorker>) => number
  /** Notes for how many milliseconds a call of `owner` computed. */
  readonly noteTime: (owner: string, ms: number) => void
}

export interface OwnedItem {
  readonly owner: string
}

export interface HeldWorker extends OwnedItem {
  /** Whether the worker computes; false while it sleeps until the engine answers it. */
  readonly computes: boolean
}

/** The computing time from which a call is slow. */
const SLOW_MS = 250
/** The time for which the owner of a slow call counts as slow. */
const SLOW_FOR_MS = 60_000
/** The most workers as a multiple of `workers`, with those that sleep until the engine answers them. */
const ASLEEP_FACTOR = 4

/** Returns how many workers there are at most where `workers` compute. */
export function mostWorkers(workers: number): number {
  return workers * ASLEEP_FACTOR
}

interface Count {
  all: number
  computing: number
}

const NONE: Count = { all: 0, computing: 0 }

/** Makes a scheduler for `workers`. The clock `now` gives milliseconds and never goes back. */
export function createScheduler(workers: number, now: () => number): WorkerScheduler {
  const slowUntil = new Map<string, number>()
  return {
    findNext: (waiting, heldWorkers) => {
      const counts = countWorkers(heldWorkers)
      const time = now()
      const freeWorkers = mostWorkers(workers) - [...counts.values()].reduce((sum, { all }) => sum + all, 0)
      const hasEnough = (owner: string, { all, computing }: Count): boolean =>
        computing >= workers ||
        all >= freeWorkers ||
        (computing > 0 && computing >= workers - 1 && (slowUntil.get(owner) ?? 0) > time)
      let best = -1
      let least = Number.POSITIVE_INFINITY
      for (const [index, { owner }] of waiting.entries()) {
        const count = counts.get(owner) ?? NONE
        if (count.all >= least || hasEnough(owner, count)) continue
        best = index
        least = count.all
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
