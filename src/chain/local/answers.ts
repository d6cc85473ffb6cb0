/** Blocks, transactions and receipts of a local chain, in the form of the Ethereum JSON-RPC specification. */
import { writeData, writeQuantity } from '../evm/values.ts'
import { BLOCK_GAS, type Log } from './execute.ts'
import type { LedgerEntry } from './ledger.ts'
import { logObject } from './logs.ts'
import { readTransaction } from './transaction.ts'

const NO_HASH = `0x${'00'.repeat(32)}`
const NO_ADDRESS = `0x${'00'.repeat(20)}`
const NO_BLOOM = `0x${'00'.repeat(256)}`
const MAX_HISTORY = 1024

/** Makes the object of a block. It has whole transactions when `chainId` is given, else their hashes. */
export function makeBlockObject(entry: LedgerEntry, chainId?: bigint): unknown {
  const { block, includedTransaction } = entry
  const transaction = chainId === undefined ? includedTransaction?.hash : transactionObject(entry, chainId)
  return {
    number: writeQuantity(block.number),
    hash: block.hash,
    parentHash: block.number === 0 ? NO_HASH : block.parent,
    timestamp: writeQuantity(block.time),
    transactions: includedTransaction === undefined ? [] : [transaction],
    gasLimit: writeQuantity(BLOCK_GAS),
    gasUsed: writeQuantity(includedTransaction?.result.gasUsed ?? 0),
    baseFeePerGas: '0x0',
    difficulty: '0x0',
    totalDifficulty: '0x0',
    extraData: '0x',
    miner: NO_ADDRESS,
    mixHash: NO_HASH,
    nonce: '0x0000000000000000',
    logsBloom: NO_BLOOM,
    sha3Uncles: NO_HASH,
    stateRoot: NO_HASH,
    receiptsRoot: NO_HASH,
    transactionsRoot: NO_HASH,
    size: '0x0',
    uncles: [],
  }
}

/** Makes the object of the transaction in a block; null when there is none. */
export function transactionObject(entry: LedgerEntry | undefined, chainId: bigint): unknown {
  if (entry?.block.transaction === undefined) return null
  const { block } = entry
  const { raw, from } = entry.block.transaction
  const { hash, nonce, message, type } = readTransaction(raw)
  return {
    ...blockFields(entry),
    hash,
    nonce: writeQuantity(nonce),
    from,
    to: message.to ?? null,
    value: writeQuantity(message.value),
    input: writeData(message.input),
    gas: writeQuantity(message.gasLimit),
    gasPrice: '0x0',
    ...(type === 'legacy'
      ? { type: '0x0' }
      : { type: '0x2', maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0', accessList: [] }),
    chainId: writeQuantity(chainId),
    blockHash: block.hash,
    v: '0x0',
    r: NO_HASH,
    s: NO_HASH,
  }
}

/** Makes the receipt of the transaction in a block; null when there is none. */
export function receiptObject(entry: LedgerEntry | undefined, logs: readonly Log[]): unknown {
  if (entry?.includedTransaction === undefined) return null
  const { hash, type, from, to, result } = entry.includedTransaction
  return {
    ...blockFields(entry),
    transactionHash: hash,
    from,
    to: to ?? null,
    contractAddress: result.created ?? null,
    status: result.failure === undefined ? '0x1' : '0x0',
    gasUsed: writeQuantity(result.gasUsed),
    cumulativeGasUsed: writeQuantity(result.gasUsed),
    effectiveGasPrice: '0x0',
    type: type === 'legacy' ? '0x0' : '0x2',
    logs: logs.map((log, index) => logObject(entry, log, index)),
    logsBloom: NO_BLOOM,
  }
}

function blockFields({ block }: LedgerEntry) {
  return { blockNumber: writeQuantity(block.number), blockHash: block.hash, transactionIndex: '0x0' }
}

/** Makes the fee history of `count` blocks; gas costs nothing on a local chain. */
export function feeHistory({ block }: LedgerEntry, count: number): unknown {
  const blocks = Math.min(count, block.number + 1, MAX_HISTORY)
  return {
    oldestBlock: writeQuantity(block.number + 1 - blocks),
    baseFeePerGas: Array.from({ length: blocks + 1 }, () => '0x0'),
    gasUsedRatio: Array.from({ length: blocks }, () => 0),
    reward: Array.from({ length: blocks }, () => ['0x0']),
  }
}
