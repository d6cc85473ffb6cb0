/** Reads the blocks of a local chain from its files, and creates the first block, which has the chain id. */
import { randomBytes } from '@noble/hashes/utils.js'
import { MalformedError } from '../../codec/malformed.ts'
import { writeData } from '../evm/values.ts'
import { type HashedBlock, hashBlock, readBlock } from './block.ts'
import type { BlockFiles } from './files.ts'

/**
 * Makes the first block of a new chain. `time` is in seconds since 1970. The chain id is random, so that a signed
 * transaction is valid on one chain only; wallets accept ids of up to 52 bits.
 */
export function createFirstBlock(time: number): HashedBlock {
  const chainId = Buffer.from(randomBytes(6)).readUIntBE(0, 6).toString()
  const parent = writeData(randomBytes(32))
  return hashBlock({ number: 0, parent, time, chainId })
}

/** Reads block 0. Throws an Error for the operator when it is not the first block of a local chain. */
export function readFirstBlock(files: BlockFiles): HashedBlock & { readonly chainId: string } {
  const block = readStoredBlock(files, 0, files.read(0) ?? '')
  if (block.chainId === undefined) throw new Error(`${files.name}: block 0 is not the first block of a local chain`)
  return { ...block, chainId: block.chainId }
}

/** Parses the text of a block. Throws an Error for the operator that names the block when it cannot be read. */
export function readStoredBlock(files: BlockFiles, number: number, text: string): HashedBlock {
  try {
    return readBlock(text)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new Error(`${files.name}: block ${number} cannot be read: ${error.message}`, { cause: error })
  }
}
