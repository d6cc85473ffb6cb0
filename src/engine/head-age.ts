/**
 * The age of the newest block of the chain. A node that has stopped still answers, with an old state: so the age counts
 * from the time in the block, and from when the engine first saw it, whichever was earlier.
 */
import type { Block } from '../chain/chain.ts'

export interface HeadAge {
  /** Takes the newest block that a look found. `isReorganised`: the chain took back what was seen before. */
  readonly see: (newest: Block, isReorganised: boolean) => void
  /** Returns the age of the head in seconds; zero before the first look. */
  readonly seconds: () => number
}

export function headAge(now: () => Date): HeadAge {
  let newest: Block | undefined
  let seenAt = 0
  return {
    see: (block, isReorganised) => {
      const time = now().getTime()
      // A node of several behind one address may be behind the others: to see an older block is no movement.
      const isMoved = newest === undefined || isReorganised || block.number > newest.number
      if (isMoved) newest = block
      // A clock that was set back must not make a block younger.
      seenAt = isMoved ? time : Math.min(seenAt, time)
    },
    seconds: () => {
      if (newest === undefined) return 0
      return Math.max(0, now().getTime() - Math.min(seenAt, newest.time.getTime())) / 1000
    },
  }
}
