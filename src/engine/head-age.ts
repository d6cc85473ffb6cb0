/**
 * The age of the newest block of the chain. A node that has stopped still answers with an old state, so the age counts
 * from the time in the block or from the time at which the engine first saw the block, whichever is earlier.
 */
import type { Block } from '../chain/chain.ts'

export interface HeadAge {
  /** Notes the newest block of the chain. `isReorganised`: the chain took back the block that was noted before. */
  readonly noteHead: (newest: Block, isReorganised: boolean) => void
  /** Returns the age of the head in seconds; zero before the first look. */
  readonly getSeconds: () => number
}

export function createHeadAge(now: () => Date): HeadAge {
  let newest: Block | undefined
  let firstSeenAt = 0
  return {
    noteHead: (block, isReorganised) => {
      const time = now().getTime()
      // A node behind a shared address may lag the others: an older block does not mean that the chain has moved.
      const isMoved = newest === undefined || isReorganised || block.number > newest.number
      if (isMoved) newest = block
      // A clock that was set back must not make a block younger.
      firstSeenAt = isMoved ? time : Math.min(firstSeenAt, time)
    },
    getSeconds: () => {
      if (newest === undefined) return 0
      return Math.max(0, now().getTime() - Math.min(firstSeenAt, newest.time.getTime())) / 1000
    },
  }
}
