/**
 * A cache of the answers of contracts at a block. Such an answer never changes, and several calls read the same one.
 */

import { createLru } from '../async/cache.ts'
import { limitConcurrency } from '../async/concurrency.ts'
import type { Chain } from '../chain/chain.ts'

const MAX_ANSWERS = 1000
/** The maximum number of reads at once, so that connections to the node remain for the engine itself. */
const MAX_READS = 16
/** The most bytes of a cached answer with its input. Larger answers are read again, so that the cache stays small. */
const MAX_BYTES = 4096

/**
 * Makes a function that reads contracts as {@link Chain.read} does, sixteen at a time, and caches the answers. Failures
 * are not cached.
 */
export function cacheReads(chain: Pick<Chain, 'read'>): Chain['read'] {
  const answers = createLru<string, Uint8Array>(MAX_ANSWERS)
  const runLimited = limitConcurrency(MAX_READS)
  return async (contract, input, block) => {
    const key = `${block.hash} ${contract} ${Buffer.from(input).toString('latin1')}`
    const cachedAnswer = answers.get(key)
    if (cachedAnswer !== undefined) return cachedAnswer
    // The same answer may have come while this read waited.
    const answer = await runLimited(async () => answers.get(key) ?? (await chain.read(contract, input, block)))
    if (input.length + answer.length <= MAX_BYTES) answers.set(key, answer)
    return answer
  }
}
