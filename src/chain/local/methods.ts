/**
 * A local chain: an EVM chain in a directory, without a server, for demonstrations, development and tests. Its methods
 * are those of the Ethereum JSON-RPC specification that wallets and libraries use, so that the adaptor for EVM chains
 * serves it too, and `evm_mine`, which development chains have. It differs from a network in this: each transaction at
 * once becomes a block of its own, gas costs nothing, accounts need no balance, and the state of every block is kept.
 * The time of a block is that of the clock, and not before that of its parent. A call at `latest` sees the time of the
 * newest block, and a call at `pending` that of the clock.
 */
import { MalformedError } from '../../codec/malformed.ts'
import { readData, readHash, readNumber, writeData, writeQuantity } from '../evm/values.ts'
import { type JsonRpc, JsonRpcError } from '../json-rpc.ts'
import { feeHistory, makeBlockObject, receiptObject, transactionObject } from './answers.ts'
import { callContract, estimateGas } from './call.ts'
import type { BlockFiles } from './files.ts'
import { type Ledger, type LedgerEntry, nonceAt, openLedger } from './ledger.ts'
import { findLogs } from './logs.ts'
import { findByHash, findEntry, readAddressText, readSlotText, requireEntry } from './params.ts'
import { readTransaction } from './transaction.ts'

type Method = (ledger: Ledger, params: readonly unknown[]) => unknown

const INVALID_PARAMS = -32602
const EMPTY_SLOT = new Uint8Array(32)
/** The least balance that is shown for an account. A local chain needs no balance, but wallets check it. */
const SHOWN_BALANCE = 10n ** 24n

/** The methods by name. They accept any block, because the state of every block is kept. */
const methods: Readonly<Record<string, Method>> = {
  eth_chainId: ({ chainId }) => writeQuantity(chainId),
  net_version: ({ chainId }) => chainId.toString(),
  web3_clientVersion: () => 'vouchsafe/local',
  eth_syncing: () => false,
  eth_accounts: () => [],
  eth_blockNumber: (ledger) => writeQuantity(requireEntry(ledger, 'latest').block.number),
  eth_gasPrice: () => '0x0',
  eth_maxPriorityFeePerGas: () => '0x0',
  eth_feeHistory: (ledger, [count]) => feeHistory(requireEntry(ledger, 'latest'), readNumber(count)),
  eth_getBlockByNumber: (ledger, [tag, full]) => formatBlock(ledger, findEntry(ledger, tag), full),
  eth_getBlockByHash: (ledger, [hash, full]) => formatBlock(ledger, findByHash(ledger, hash), full),
  eth_getBalance: (ledger, [address, tag]) => {
    const account = ledger.state.accounts.getAt(readAddressText(address), requireEntry(ledger, tag).block.number)
    return writeQuantity(account === undefined || account.balance < SHOWN_BALANCE ? SHOWN_BALANCE : account.balance)
  },
  eth_getCode: (ledger, [address, tag]) =>
    writeData(
      ledger.state.code.getAt(readAddressText(address), requireEntry(ledger, tag).block.number) ?? new Uint8Array(),
    ),
  eth_getStorageAt: (ledger, [address, slot, tag]) => {
    const key = `${readAddressText(address)}:${readSlotText(slot)}`
    const value = ledger.state.storage.getAt(key, requireEntry(ledger, tag).block.number) ?? EMPTY_SLOT
    return writeData(Buffer.concat([EMPTY_SLOT, value]).subarray(-EMPTY_SLOT.length))
  },
  eth_getTransactionCount: (ledger, [address, tag]) =>
    writeQuantity(nonceAt(ledger.state, readAddressText(address), requireEntry(ledger, tag).block.number)),
  eth_call: async (ledger, [call, tag]) => writeData(await callContract(ledger, call, tag)),
  eth_estimateGas: async (ledger, [call, tag]) => writeQuantity(await estimateGas(ledger, call, tag ?? 'pending')),
  eth_sendRawTransaction: async (ledger, [raw]) => {
    const transaction = readTransaction(writeData(readData(raw)))
    await ledger.append(transaction)
    return transaction.hash
  },
  eth_getTransactionByHash: (ledger, [hash]) => transactionObject(ledger.find(readHash(hash)), ledger.chainId),
  eth_getTransactionReceipt: async (ledger, [hash]) => {
    const entry = ledger.find(readHash(hash))
    return receiptObject(entry, entry === undefined ? [] : await ledger.logs.getLogs(entry))
  },
  eth_getLogs: (ledger, [filter]) => findLogs(ledger, filter),
  evm_mine: async (ledger) => {
    await ledger.append()
    return '0x0'
  },
}

const NO_SUCH_METHOD = -32601

/**
 * Opens the chain of these files, and begins one when there is none. Rejects with a message for the operator when the
 * files are not a chain.
 */
export async function openLocalRpc(files: BlockFiles, now: () => Date): Promise<JsonRpc> {
  const ledger = await openLedger(files, now)
  return (method, params) => answerMethod(ledger, method, params)
}

/**
 * Runs a method, and returns its result. Rejects with a JsonRpcError when there is no such method, or its parameters
 * are invalid.
 */
export async function answerMethod(ledger: Ledger, method: string, params: readonly unknown[]): Promise<unknown> {
  const runMethod = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (runMethod === undefined)
    throw new JsonRpcError(NO_SUCH_METHOD, `the method ${method.slice(0, 60)} is not available`)
  if (!isOfKnownBlock(ledger, method, params)) await ledger.catchUp()
  try {
    return await runMethod(ledger, params)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new JsonRpcError(INVALID_PARAMS, `invalid params: ${error.message}`, undefined, { cause: error })
  }
}

/** The index of the parameter that names the block, by method. */
const BLOCK_AT: ReadonlyMap<string, number> = new Map([
  ['eth_getBlockByNumber', 0],
  ['eth_call', 1],
  ['eth_getBalance', 1],
  ['eth_getCode', 1],
  ['eth_getTransactionCount', 1],
  ['eth_getStorageAt', 2],
])

/**
 * Tests whether a request is about a block that this process has read. Its answer cannot change, so that new files need
 * not be read.
 */
function isOfKnownBlock({ entries }: Ledger, method: string, params: readonly unknown[]): boolean {
  const at = BLOCK_AT.get(method)
  if (at === undefined) return false
  const number = params[at]
  return typeof number === 'string' && number.startsWith('0x') && Number(number) < entries.length
}

function formatBlock(ledger: Ledger, entry: LedgerEntry | undefined, full: unknown): unknown {
  return entry === undefined ? null : makeBlockObject(entry, full === true ? ledger.chainId : undefined)
}
