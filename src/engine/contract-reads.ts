/**
 * A cache of what contracts answer at a block: an answer never changes, and several calls read the same at one block.
 */

import { createLru } from '../async/lru.ts'
import type { Chain } from '../chain/chain.ts'

const REMEMBERED = 1000
/**
 * The most bytes of a question and its answer that are kept; larger ones are asked again, so that all together stay
 * small.
 */
const LARGEST = 4096

/** Reads as the chain does, and caches answers. Failures are not cached. */
export function cacheReads(chain: Pick<Chain, 'read'>): Chain['read'] {
  const answers = createLru<string, Uint8Array>(REMEMBERED)
  return async (contract, input, block) => {
    const key = `${block.hash} ${contract} ${Buffer.from(input).toString('latin1')}`
    const cached = answers.get(key)
    if (cached !== undefined) return cached
    const answer = await chain.read(contract, input, block)
    if (input.length + answer.length <= LARGEST) answers.set(key, answer)
    return answer
  }
}
