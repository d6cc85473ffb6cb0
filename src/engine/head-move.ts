/** Tells how the head of the chain moved between two polls. */
import type { Lru } from '../async/cache.ts'
import { type Block, type Chain, isAboutOneRequest } from '../chain/chain.ts'

/** The move of the head since the last poll; `from` is the block of that poll. */
export type HeadMove =
  /** There was no poll before, or the node does not keep its block any more. */
  | { readonly kind: 'first' }
  /** `forward`: the head is a later block of the same fork. `none`: the head is the block of the last poll. */
  | { readonly kind: 'forward' | 'none'; readonly from: Block }
  /** The chain lacks `from`, so that it may be at another fork. */
  | { readonly kind: 'reorganised'; readonly from: Block }
  /** The node that answered lacks the newest blocks, and another one has them. That is not a reorganisation. */
  | { readonly kind: 'lagging'; readonly from: Block }

/**
 * The answer of the chain about a block that it had. `pruned`: the node says that it keeps none of the blocks so far
 * below the head (error 4444 of EIP-4444).
 */
export type BlockState = 'there' | 'gone' | 'pruned'

/** How far below the head a block is that no chain takes back, and whose body a node need not keep. */
const PRUNED_BLOCKS = 1000
/** The words by which a node says that it keeps no such block. */
const PRUNED_TEXT = /prun|histor|\b4444\b/i

/**
 * Finds how the head moved since the block `from` of the last poll. `heads` has the hashes of the heads of the last
 * polls, by their numbers. Asks the chain whether it still has `from`, unless the hashes tell.
 */
export async function findHeadMove(
  chain: Pick<Chain, 'hasBlock'>,
  heads: Pick<Lru<number, string>, 'get'>,
  head: Block,
  from: Block | undefined,
): Promise<HeadMove> {
  if (from === undefined) return { kind: 'first' }
  if (head.hash === from.hash) return { kind: 'none', from }
  // A node that lags behind does not have `from`, and is at a block that was the head before.
  if (head.number < from.number && heads.get(head.number) === head.hash) return { kind: 'lagging', from }
  const state = await fetchBlockState(chain, from, head)
  if (state === 'pruned') return { kind: 'first' }
  if (state === 'gone') return { kind: 'reorganised', from }
  return { kind: head.number > from.number ? 'forward' : 'lagging', from }
}

/** Fetches what the chain, whose head is `head`, says of a block. Rejects like {@link Chain.hasBlock}. */
export async function fetchBlockState(
  chain: Pick<Chain, 'hasBlock'>,
  block: Pick<Block, 'number' | 'hash'>,
  head: Pick<Block, 'number'>,
): Promise<BlockState> {
  try {
    return (await chain.hasBlock(block)) ? 'there' : 'gone'
  } catch (error) {
    const isOld = head.number - block.number > PRUNED_BLOCKS
    if (isOld && isAboutOneRequest(error) && PRUNED_TEXT.test(error.message)) return 'pruned'
    throw error
  }
}
