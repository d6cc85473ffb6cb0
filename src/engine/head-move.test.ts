import { describe, expect, it } from 'vitest'
import { createLru } from '../async/cache.ts'
import { type Block, ChainError } from '../chain/chain.ts'
import { findHeadMove } from './head-move.ts'

const block = (number: number, fork = 'a'): Block => ({ number, hash: `${fork}${number}`, time: new Date(0) })
const from = block(5)

/** Returns the move from block 5 to `head` on a chain that has the block 5, or has it no more. */
const moveTo = (head: Block, hasBlock: boolean) => {
  const heads = createLru<number, string>(8)
  for (const { number, hash } of [block(4), from]) heads.set(number, hash)
  return findHeadMove({ hasBlock: () => Promise.resolve(hasBlock) }, heads, head, from)
}

describe('the move of the head of a chain', () => {
  it('is the first when there was no look before', async () => {
    const chain = { hasBlock: () => Promise.reject(new Error('there is no block to ask for')) }
    expect(await findHeadMove(chain, createLru(8), block(5), undefined)).toEqual({ kind: 'first' })
  })

  it.each([
    ['none, to the same block', block(5), false, 'none'],
    ['forward, to a later block of the fork', block(6), true, 'forward'],
    ['a reorganisation, to a later block of another fork', block(6, 'b'), false, 'reorganised'],
    ['a reorganisation, to a block of the same number', block(5, 'b'), false, 'reorganised'],
    ['a reorganisation, to an earlier block that was no head', block(4, 'b'), false, 'reorganised'],
    ['that of a node that lags behind, to an earlier head', block(4), false, 'lagging'],
    ['that of a node that lags behind, to an earlier block of the fork', block(3), true, 'lagging'],
  ] as const)('is %s', async (_, head, hasBlock, kind) => {
    expect(await moveTo(head, hasBlock)).toEqual({ kind, from })
  })

  it.each([
    ['the first again where the node keeps no such old block', block(1006), 'pruned history unavailable', 'failed'],
    ['unknown where the node refuses for another reason', block(1006), 'exceeded its compute units', 'failed'],
    ['unknown where the node keeps no block that is so new', block(1005), 'pruned history unavailable', 'failed'],
    ['unknown where no node answers', block(1006), 'no history', 'unreachable'],
  ] as const)('is %s', async (name, head, message, kind) => {
    const chain = { hasBlock: () => Promise.reject(new ChainError(message, { kind })) }
    const expected = name.startsWith('the first') ? { kind: 'first' } : message
    const move = findHeadMove(chain, createLru(8), head, from)
    expect(await move.catch((error: unknown) => (error as Error).message)).toEqual(expected)
  })
})
