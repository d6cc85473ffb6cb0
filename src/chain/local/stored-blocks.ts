/** Blocks of a local chain as they come from its files: the first, which says which chain it is, and those after it. */
import { randomBytes } from '@noble/hashes/utils.js'
import { MalformedError } from '../../codec/malformed.ts'
import { data } from '../evm/values.ts'
import { type HashedBlock, hashBlock, readBlock } from './block.ts'
import type { BlockFiles } from './files.ts'

/**
 * Returns the first block of a new chain, at `time` in seconds since 1970. Its chain id is random, so that what was
 * signed for one chain is worth nothing on another; wallets take up to 52 bits.
 */
export function createFirstBlock(time: number): HashedBlock {
  const chainId = Buffer.from(randomBytes(6)).readUIntBE(0, 6).toString()
  const parent = data(randomBytes(32))
  return hashBlock({ number: 0, parent, time, chainId })
}

/** Reads block 0. Throws an Error, in words for an operator, where it begins no local chain. */
export function readFirstBlock(files: BlockFiles): HashedBlock & { readonly chainId: string } {
  const block = readStoredBlock(files, 0, files.read(0) ?? '')
  if (block.chainId === undefined) throw new Error(`${files.name}: block 0 is not the first block of a local chain`)
  return { ...block, chainId: block.chainId }
}

/** Reads a block from its file. Throws an Error, in words for an operator, that names the block that cannot be read. */
export function readStoredBlock(files: BlockFiles, number: number, text: string): HashedBlock {
  try {
    return readBlock(text)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new Error(`${files.name}: block ${number} cannot be read: ${error.message}`, { cause: error })
  }
}
