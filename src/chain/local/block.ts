/**
 * The file format of a block of a local chain. A block has at most one transaction, the hash of its parent, and its own
 * hash, so that a file that was truncated, changed, or copied from another chain is detected.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { isObject, type Json, memberOf, parseJson } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { writeData } from '../evm/values.ts'

export interface StoredBlock {
  readonly number: number
  /** The hash of the previous block; in the first block random bytes, which make each chain unique. */
  readonly parent: string
  /** The time of the block in seconds since 1970, not before that of its parent. */
  readonly time: number
  /** The chain id in decimal, in the first block only. */
  readonly chainId?: string
  readonly transaction?: {
    readonly raw: string
    /**
     * The address of the signer. It is stored because recovering it from the signature takes longer than running the
     * transaction.
     */
    readonly from: string
  }
}

export interface HashedBlock extends StoredBlock {
  readonly hash: string
}

/** Adds to a block the hash of its content. */
export function hashBlock(block: StoredBlock): HashedBlock {
  const { number, parent, time, chainId, transaction } = block
  const content = JSON.stringify([
    number,
    parent,
    time,
    chainId ?? null,
    transaction?.raw ?? null,
    transaction?.from ?? null,
  ])
  return { ...block, hash: writeData(keccak_256(Buffer.from(content))) }
}

/** Writes a block as the text of its file. */
export function writeBlock({ hash, number, parent, time, chainId, transaction }: HashedBlock): string {
  return `${JSON.stringify({ number, parent, time, chainId, transaction, hash }, null, 2)}\n`
}

/** Reads a block. Throws a MalformedError when the text is not a block, or was changed after it was written. */
export function readBlock(text: string): HashedBlock {
  const value = parseJson(text)
  if (!isObject(value)) return malformed('it is not a block')
  const transaction = memberOf(value, 'transaction')
  const chainId = memberOf(value, 'chainId')
  const block = hashBlock({
    number: numberOf(memberOf(value, 'number')),
    parent: hexOf(memberOf(value, 'parent')),
    time: numberOf(memberOf(value, 'time')),
    ...(chainId === undefined
      ? {}
      : { chainId: typeof chainId === 'string' ? chainId : malformed('it is not a block') }),
    ...(transaction === undefined ? {} : { transaction: transactionOf(transaction) }),
  })
  return block.hash === memberOf(value, 'hash') ? block : malformed('it was changed after it was written')
}

function transactionOf(value: Json): StoredBlock['transaction'] & object {
  if (!isObject(value)) return malformed('its transaction is not an object')
  return { raw: hexOf(memberOf(value, 'raw')), from: hexOf(memberOf(value, 'from')) }
}

function numberOf(value: Json | undefined): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : malformed('it is not a block')
}

function hexOf(value: Json | undefined): string {
  return typeof value === 'string' && /^0x([0-9a-f]{2})*$/.test(value) ? value : malformed('it is not a block')
}
