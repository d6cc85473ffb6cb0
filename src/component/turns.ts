/** Whose call is next, so that no contract takes the workers from the others: neither by many calls, nor by slow ones. */

export interface Turns {
  /**
   * The place in line of the next: the first of the owner that has the fewest workers. Nobody gets more than there are without spare
   * ones, and an owner whose calls were slow not the last of these, as long as there are two: then others always find one that is free
   * soon. -1 where all that wait are such.
   */
  readonly next: (waiting: readonly Owned[], running: Iterable<string>) => number
  /** How long a call held its worker. */
  readonly took: (owner: string, ms: number) => void
}

export interface Owned {
  readonly owner: string
}

/** A call that holds its worker for longer is slow, and its owner for so long. */
const SLOW_MS = 250
const SLOW_FOR_MS = 60_000

/** `now` in milliseconds, of a clock that never goes back. */
export function createTurns(workers: number, now: () => number): Turns {
  const slow = new Map<string, number>()
  return {
    next: (waiting, running) => {
      const having = countOf(running)
      const at = now()
      const hasEnough = (owner: string, count: number): boolean =>
        count >= workers || (count > 0 && count >= workers - 1 && (slow.get(owner) ?? 0) > at)
      let best = -1
      let least = Number.POSITIVE_INFINITY
      for (const [place, { owner }] of waiting.entries()) {
        const count = having.get(owner) ?? 0
        if (count >= least || hasEnough(owner, count)) continue
        best = place
        least = count
        if (least === 0) break
      }
      return best
    },
    took: (owner, ms) => {
      if (ms < SLOW_MS) return
      for (const [each, until] of slow) if (until <= now()) slow.delete(each)
      slow.set(owner, now() + SLOW_FOR_MS)
    },
  }
}

function countOf(owners: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  return counts
}
