/**
 * Tells whether the chain stands still: its newest block is older than `staleSeconds`. A node that has stopped still
 * answers, with an old state. The age of a block therefore counts from the time in the block, or from the time at which
 * the engine first saw it, whichever is earlier.
 */
import type { Logger } from 'pino'
import type { Block } from '../chain/chain.ts'
import type { EngineConfig } from './config.ts'

export interface HeadAge {
  /**
   * Records the newest block of the chain. `isReorganised`: a reorganisation removed the block that was recorded
   * before.
   */
  readonly noteHead: (newest: Block, isReorganised: boolean) => void
  /** Returns the age of the head in seconds; zero before the first poll. */
  readonly getSeconds: () => number
}

/** Makes the record of the newest block of the chain. */
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

const STANDSTILL_TEXT =
  'the chain has no new block: ask its node why, compare the clocks, or set chain.blocksOnDemand if it makes blocks for transactions alone'

/** Tests whether the chain stands still. A chain that makes blocks only for transactions never does. */
export function isStandingStill({ chain, staleSeconds }: EngineConfig, headAge: HeadAge): boolean {
  return !chain.blocksOnDemand && headAge.getSeconds() > staleSeconds
}

/** Makes a function to call after each poll. It logs once when the chain stands still, and once when it moves again. */
export function createStandstillLog(
  { config, log }: { readonly config: EngineConfig; readonly log: Logger },
  headAge: HeadAge,
): () => void {
  let wasStill = false
  return () => {
    const isStill = isStandingStill(config, headAge)
    if (isStill === wasStill) return
    wasStill = isStill
    if (isStill) log.warn({ event: 'chain_stands_still', seconds: headAge.getSeconds() }, STANDSTILL_TEXT)
    else log.info({ event: 'chain_moves' }, 'the chain has new blocks again')
  }
}
