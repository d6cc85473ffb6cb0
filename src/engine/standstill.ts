/** Tells whether the chain stands still, which means that its newest block is older than the operator allows. */
import type { Logger } from 'pino'
import type { EngineConfig } from './config.ts'
import type { HeadAge } from './head-age.ts'

const STANDSTILL_TEXT =
  'the chain has no new block: ask its node why, compare the clocks, or set chain.blocksOnDemand if it makes blocks for transactions alone'

/** Tests whether the chain stands still. A chain that makes blocks for transactions alone never does. */
export function isStandingStill({ chain, staleSeconds }: EngineConfig, headAge: HeadAge): boolean {
  return !chain.blocksOnDemand && headAge.getSeconds() > staleSeconds
}

/**
 * Makes a function to be called after each look, which logs once that the chain stands still, and once that it moves
 * again.
 */
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
