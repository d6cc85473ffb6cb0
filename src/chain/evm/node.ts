/**
 * A client of an EVM node: the methods of the Ethereum JSON-RPC specification that this project uses, with validated
 * answers. All methods reject with a ChainError: `refused` when the contract refused, `failed` when the node did or its
 * answer is invalid, and `unreachable` when the node could not be asked.
 */
import { isObject, type JsonObject, memberOf } from '../../codec/json.ts'
import { malformed, readOrElse } from '../../codec/malformed.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import { ChainError } from '../chain.ts'
import { AnswerTooLargeError, type JsonRpc, JsonRpcError, REVERTED } from '../json-rpc.ts'
import { revertData, revertReason } from './revert.ts'
import { readData, readEvmAddress, readHash, readNumber, readQuantity, writeData, writeQuantity } from './values.ts'

/** A call of an EVM; without `to` it creates a contract. */
export interface EvmCall {
  readonly from?: Address
  readonly to: Address | undefined
  readonly input: Uint8Array
}

export interface NodeBlock {
  readonly number: number
  readonly hash: string
  readonly time: Date
  readonly gasLimit: bigint
  /** The base fee; undefined on chains without EIP-1559. */
  readonly baseFee: bigint | undefined
}

export interface Receipt {
  readonly block: number
  readonly succeeded: boolean
  readonly gasUsed: bigint
  /** The address of the contract that the transaction created, if any. */
  readonly created: Address | undefined
}

/** A log: the contract that emitted it, and the number of its block. */
export interface EmittedLog {
  readonly address: Address
  readonly block: number
}

export type BlockTag = number | 'latest' | 'pending'

/** The error for an answer that is too large, or is not of the expected form. */
export class UnreadableAnswer extends ChainError {
  constructor(message: string, cause: unknown) {
    super(message, { kind: 'failed', cause })
  }
}

/** The most logs in one answer. */
const MAX_LOGS = 100_000
/** The most characters of a node's error message. */
const MAX_MESSAGE = 500
const FAILED_CODE = -32015
/**
 * Matches the error messages of nodes about code that fails in any other way. Such a failure of one contract must not
 * count as a node that cannot answer.
 */
const FAILURE_MESSAGE = new RegExp(
  [
    '\\brevert(ed)?\\b',
    'execution failed',
    'invalid (opcode|jump)',
    '\\b(out|ran out) of gas\\b',
    'gas uint64 overflow',
    'value overflow',
    'stack (underflow|overflow|limit)',
    'return ?data out of bounds',
    'write protection',
    'static state change',
  ].join('|'),
  'i',
)
const NOBODY: Address = '00'.repeat(21)

export type EvmNode = ReturnType<typeof createEvmNode>

/** Makes the client of an EVM node, which awaits `checkChain` before each request. Its errors name the method. */
export function createEvmNode(rpc: JsonRpc, checkChain?: () => Promise<void>) {
  const ask = async <T>(method: string, params: readonly unknown[], read: (answer: unknown) => T): Promise<T> => {
    await checkChain?.()
    const answer = await rpc(method, params).catch((error: unknown) => throwRefusal(method, error))
    return readOrElse(
      () => read(answer),
      (cause) => {
        const problem = `the node of the chain answers ${method} with what cannot be read: ${cause.message}`
        throw new UnreadableAnswer(problem, cause)
      },
    )
  }
  const readNullable =
    <T>(read: (answer: JsonObject) => T) =>
    (answer: unknown): T | undefined =>
      answer === null ? undefined : read(requireObject(answer))
  return {
    fetchChainId: () => ask('eth_chainId', [], readQuantity),
    fetchBlockNumber: () => ask('eth_blockNumber', [], readNumber),
    /** Returns a block; undefined when the node does not have it. */
    fetchBlock: (tag: BlockTag) => ask('eth_getBlockByNumber', [tagOf(tag), false], readNullable(readBlock)),
    fetchCode: (address: Address, tag: BlockTag) => ask('eth_getCode', [evmAddress(address), tagOf(tag)], readData),
    /**
     * Calls a contract for reading, as the zero address unless `from` is given: without it, some nodes use an account
     * of their own.
     */
    call: (call: EvmCall, tag: BlockTag) => ask('eth_call', [callOf({ from: NOBODY, ...call }), tagOf(tag)], readData),
    estimateGas: (call: EvmCall) => ask('eth_estimateGas', [callOf(call), 'pending'], readQuantity),
    /** Returns the logs of the addresses in the blocks from `from` to `to`, both included. */
    fetchLogs: (addresses: readonly Address[], from: number, to: number) => {
      const filter = { fromBlock: writeQuantity(from), toBlock: writeQuantity(to), address: addresses.map(evmAddress) }
      return ask('eth_getLogs', [filter], readLogs)
    },
    fetchTransactionCount: (address: Address, tag: BlockTag) =>
      ask('eth_getTransactionCount', [evmAddress(address), tagOf(tag)], readNumber),
    fetchGasPrice: () => ask('eth_gasPrice', [], readQuantity),
    fetchPriorityFee: () => ask('eth_maxPriorityFeePerGas', [], readQuantity),
    sendTransaction: (raw: string) => ask('eth_sendRawTransaction', [raw], readHash),
    /** Tests whether the node has the transaction, in a block or pending. */
    hasTransaction: (hash: string) => ask('eth_getTransactionByHash', [hash], (answer) => answer !== null),
    /** Returns the number of the block that has the transaction; undefined when no block has it. */
    fetchTransactionBlock: (hash: string) => ask('eth_getTransactionByHash', [hash], readNullable(readBlockNumber)),
    fetchReceipt: (hash: string) => ask('eth_getTransactionReceipt', [hash], readNullable(readReceipt)),
  }
}

function tagOf(tag: BlockTag): string {
  return typeof tag === 'number' ? writeQuantity(tag) : tag
}

function callOf({ from, to, input }: EvmCall): Record<string, string> {
  return {
    ...(from === undefined ? {} : { from: evmAddress(from) }),
    ...(to === undefined ? {} : { to: evmAddress(to) }),
    data: writeData(input),
  }
}

function requireObject(value: unknown): JsonObject {
  return isObject(value) ? value : malformed('it is not an object')
}

function readBlock(block: JsonObject): NodeBlock {
  const baseFee = memberOf(block, 'baseFeePerGas') ?? undefined
  const time = new Date(readNumber(memberOf(block, 'timestamp')) * 1000)
  if (Number.isNaN(time.getTime())) malformed('its timestamp is out of range')
  return {
    number: readNumber(memberOf(block, 'number')),
    hash: readHash(memberOf(block, 'hash')),
    time,
    gasLimit: readQuantity(memberOf(block, 'gasLimit')),
    baseFee: baseFee === undefined ? undefined : readQuantity(baseFee),
  }
}

function readBlockNumber(transaction: JsonObject): number | undefined {
  const number = memberOf(transaction, 'blockNumber') ?? undefined
  return number === undefined ? undefined : readNumber(number)
}

function readReceipt(receipt: JsonObject): Receipt {
  const contractAddress = memberOf(receipt, 'contractAddress') ?? undefined
  return {
    block: readNumber(memberOf(receipt, 'blockNumber')),
    succeeded: readQuantity(memberOf(receipt, 'status')) === 1n,
    gasUsed: readQuantity(memberOf(receipt, 'gasUsed')),
    created: contractAddress === undefined ? undefined : readEvmAddress(contractAddress),
  }
}

function readLogs(answer: unknown): readonly EmittedLog[] {
  if (!Array.isArray(answer) || answer.length > MAX_LOGS) return malformed('it is not a list of logs, or too long')
  return answer.map((each: unknown) => {
    const log = requireObject(each)
    return { address: readEvmAddress(memberOf(log, 'address')), block: readNumber(memberOf(log, 'blockNumber')) }
  })
}

/** Converts an error of a JsonRpc call to the error that callers get, and throws it. */
function throwRefusal(method: string, error: unknown): never {
  const message = (error as Error).message.slice(0, MAX_MESSAGE)
  if (error instanceof AnswerTooLargeError)
    throw new UnreadableAnswer(`of the node of the chain, to ${method}: ${message}`, error)
  if (!(error instanceof JsonRpcError)) throw new ChainError(`the chain cannot be asked: ${message}`, { cause: error })
  const revertBytes = revertData(error.data)
  if ([REVERTED, FAILED_CODE].includes(error.code) || revertBytes !== undefined || FAILURE_MESSAGE.test(message)) {
    throw new ChainError(`the contract refuses: ${revertReason(revertBytes) ?? message}`, {
      kind: 'refused',
      cause: error,
    })
  }
  throw new ChainError(`the node of the chain refuses ${method}: ${message}`, { kind: 'failed', cause: error })
}
