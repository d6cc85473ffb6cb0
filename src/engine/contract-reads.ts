/** What contracts answered at a block: it stays the same, and several calls ask it of the same block. */

import { createLru } from '../async/lru.ts'
import type { Chain } from '../chain/chain.ts'

const REMEMBERED = 1000
/** Larger questions and answers are asked again, so that all together stay small. */
const LARGEST = 4096

/** As the chain's. What fails is not remembered. */
export function cacheReads(chain: Pick<Chain, 'read'>): Chain['read'] {
  const answers = createLru<string, Uint8Array>(REMEMBERED)
  return async (contract, input, block) => {
    const key = `${block.hash} ${contract} ${Buffer.from(input).toString('latin1')}`
    const known = answers.get(key)
    if (known !== undefined) return known
    const answer = await chain.read(contract, input, block)
    if (input.length + answer.length <= LARGEST) answers.set(key, answer)
    return answer
  }
}
