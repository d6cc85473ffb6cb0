/** An account of an EVM chain. Its transactions are of EIP-1559 where the chain has a base fee, else of EIP-155. */
import { Transaction } from 'micro-eth-signer'
import { type Address, evmAddress } from '../../offchain/address.ts'
import { accountOfKey } from '../../offchain/authentication/recover.ts'
import {
  type Account,
  ChainError,
  isRefused,
  type SignedTransaction,
  type SpendingLimits,
  type TransactionOutcome,
  WEI_PER_GWEI,
} from '../chain.ts'
import { AnswerTooLargeError } from '../json-rpc.ts'
import { type EvmCall, type EvmNode, type NodeBlock, type Receipt, UnreadableAnswer } from './node.ts'
import { minimum, writeData } from './values.ts'

export interface AccountOptions {
  readonly node: EvmNode
  readonly chainId: bigint
  /** Returns the number of the newest block that has enough confirmations. */
  readonly fetchHeadNumber: () => Promise<number>
  readonly limits: SpendingLimits
  /** Returns the number of the block at which a refusal of a contract is confirmed; absent for no confirmation. */
  readonly getReachedNumber?: (() => number | undefined) | undefined
}

export interface EvmAccount extends Account {
  /**
   * Signs as {@link Account.sign} does. Also rejects a transaction that no node would accept, because it would block
   * all later ones. Lowers the gas to the most that a transaction may have. With `to` undefined, `payload` creates a
   * contract.
   */
  sign(to: Address | undefined, payload: Uint8Array, gas: bigint, nonce: number): Promise<SignedTransaction>
}

/** The priority fee where a node suggests none, as some do not know the question: one gwei. */
const DEFAULT_PRIORITY_FEE = WEI_PER_GWEI
/** The most gas of a transaction (EIP-7825); no node accepts more. */
const MAX_GAS = 2n ** 24n
/** The largest transaction that nodes pass on (go-ethereum, `txMaxSize`). */
const MAX_BYTES = 128 * 1024

/** Makes the account of a private key. */
export function createEvmAccount(key: Uint8Array, options: AccountOptions): EvmAccount {
  const { node, chainId, fetchHeadNumber, limits } = options
  const address = accountOfKey(key, 'evm')
  return {
    address,
    canFillNonces: true,
    fetchNextNonce: () => node.fetchTransactionCount(address, 'pending'),
    sign: async (to, payload, gas, nonce) => {
      // The estimate also shows whether the contract would revert, so it is needed for a given gas too.
      const gasNeeded = await estimateGas(options, { from: address, to, input: payload })
      const latest = await node.fetchBlock('latest')
      if (latest === undefined) throw new ChainError('the node of the chain has no latest block')
      const gasLimit = minimum(gasOf(payload, { gas, gasNeeded, mostGas: limits.mostGas }), latest.gasLimit)
      const common = {
        chainId,
        nonce: BigInt(nonce),
        gasLimit,
        to: to === undefined ? '0x' : evmAddress(to),
        value: 0n,
        data: writeData(payload),
      }
      const fees = await fetchFees(node, latest, limits.mostGasPrice)
      return signTransaction({ ...common, ...fees }, key, nonce)
    },
    submit: async ({ hash, raw }) => {
      try {
        await node.sendTransaction(raw)
      } catch (error) {
        // Some nodes return an error when they have the transaction already. A look-up that fails decides nothing.
        const isKnown = error instanceof ChainError && KNOWN_TEXT.test(error.message)
        if (!isKnown && !(await node.hasTransaction(hash))) throw error
      }
    },
    fetchOutcome: async (transaction) => fetchOutcome({ node, address, head: await fetchHeadNumber() }, transaction),
  }
}

/** The words by which nodes refuse a transaction that they have. */
const KNOWN_TEXT = /already (known|imported|exists)|known transaction/i

/**
 * Estimates the gas of a transaction. Rejects with a ChainError, which is `refused` when the contract refuses the
 * transaction also at the block that the caller has reached.
 */
async function estimateGas(
  { node, getReachedNumber }: Pick<AccountOptions, 'node' | 'getReachedNumber'>,
  call: EvmCall,
): Promise<bigint> {
  try {
    return await node.estimateGas(call)
  } catch (error) {
    if (getReachedNumber === undefined || !isRefused(error)) throw error
    const number = getReachedNumber()
    if (number !== undefined) await node.call(call, number)
    const where = number === undefined ? 'at a block of this engine' : `at block ${number}`
    throw new ChainError(`${error.message}; this is not confirmed ${where} yet`, { kind: 'failed', cause: error })
  }
}

interface GasOptions {
  /** The gas that the component chose; 0 for an estimate. */
  readonly gas: bigint
  readonly gasNeeded: bigint
  readonly mostGas: bigint | undefined
}

/**
 * Returns the gas limit of a transaction. Throws a ChainError, which is `refused`, when the limit would not be enough.
 */
function gasOf(payload: Uint8Array, { gas, gasNeeded, mostGas }: GasOptions): bigint {
  if (gas !== 0n) requireEnoughGas(gas, payload, gasNeeded)
  if (mostGas !== undefined && gasNeeded > mostGas) {
    throw new ChainError(`it takes ${gasNeeded} gas, and this account gives a transaction ${mostGas} at most`, {
      kind: 'refused',
    })
  }
  const estimate = gas === 0n ? withMargin(gasNeeded) : gas
  // When the node estimates more than this limit, its chain does not have the limit.
  const limit = gasNeeded > MAX_GAS ? estimate : minimum(estimate, MAX_GAS)
  return mostGas === undefined ? limit : minimum(limit, mostGas)
}

/**
 * Adds a margin, because the state may change before the transaction is included: writing two empty words alone costs
 * 40,000. A chain charges only for the gas that a transaction uses.
 */
function withMargin(gas: bigint): bigint {
  return gas + gas / 4n + 50_000n
}

/**
 * Throws a ChainError, which is `refused`, when the gas does not pay for the payload, which no node accepts. The least
 * gas is 21,000 and 10 for each token (EIP-7623), or the estimate where that is less.
 */
function requireEnoughGas(gas: bigint, payload: Uint8Array, gasNeeded: bigint): void {
  const zeros = BigInt(payload.reduce((count, byte) => (byte === 0 ? count + 1 : count), 0))
  const tokens = zeros + 4n * (BigInt(payload.length) - zeros)
  const leastGas = minimum(21_000n + 10n * tokens, gasNeeded)
  if (gas < leastGas)
    throw new ChainError(`it is given ${gas} gas, and takes ${leastGas} at least`, { kind: 'refused' })
}

type Fees =
  | { readonly type: 'legacy'; readonly gasPrice: bigint }
  | { readonly type: 'eip1559'; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/**
 * Returns the fees of a transaction. Twice the base fee is enough while six blocks in a row are full. Rejects with a
 * ChainError, which is `failed`, when a unit of gas may cost more than `mostGasPrice`.
 */
async function fetchFees(node: EvmNode, latest: NodeBlock, mostGasPrice: bigint | undefined): Promise<Fees> {
  if (latest.baseFee === undefined) {
    const gasPrice = await node.fetchGasPrice()
    requireGasPrice(gasPrice, mostGasPrice)
    return { type: 'legacy', gasPrice }
  }
  const priority = await node.fetchPriorityFee().catch(() => DEFAULT_PRIORITY_FEE)
  const maxFeePerGas = 2n * latest.baseFee + priority
  requireGasPrice(maxFeePerGas, mostGasPrice)
  return { type: 'eip1559', maxFeePerGas, maxPriorityFeePerGas: priority }
}

/**
 * Throws a ChainError, which is `failed`, for a higher price. The node alone says the price, and the account pays what
 * it has signed.
 */
function requireGasPrice(gasPrice: bigint, mostGasPrice: bigint | undefined): void {
  if (mostGasPrice === undefined || gasPrice <= mostGasPrice) return
  throw new ChainError(
    `by the node of the chain, a unit of gas costs ${gasPrice} wei, and this account pays ${mostGasPrice} wei at most`,
    { kind: 'failed' },
  )
}

interface Fields {
  readonly chainId: bigint
  readonly nonce: bigint
  readonly gasLimit: bigint
  readonly to: string
  readonly value: bigint
  readonly data: string
}

function signTransaction(fields: Fields & Fees, key: Uint8Array, nonce: number): SignedTransaction {
  // Without strict checks: these are for input that people type in wallets, and refuse a gas price of 0.
  const unsignedTransaction =
    fields.type === 'legacy'
      ? Transaction.prepare(fields, false)
      : Transaction.prepare({ ...fields, accessList: [] }, false)
  const transaction = unsignedTransaction.signBy(key)
  const raw = transaction.toHex()
  const bytes = raw.length / 2 - 1
  if (bytes > MAX_BYTES)
    throw new ChainError(`it would have ${bytes} bytes, and nodes take ${MAX_BYTES}`, { kind: 'refused' })
  return { hash: transaction.hash, nonce, raw }
}

interface OutcomeOptions {
  readonly node: EvmNode
  readonly address: Address
  readonly head: number
}

async function fetchOutcome(
  { node, address, head }: OutcomeOptions,
  { hash, nonce, raw }: SignedTransaction,
): Promise<TransactionOutcome> {
  const readReceiptOutcome = async (): Promise<TransactionOutcome | undefined> => {
    const receipt = await fetchReceipt(node, hash)
    if (receipt === undefined) return undefined
    if (receipt.block > head) return 'unconfirmed'
    if (receipt.succeeded) return 'included'
    return isExhausted(receipt.gasUsed, Transaction.fromHex(raw).raw.gasLimit) ? 'exhausted' : 'failed'
  }
  const firstOutcome = await readReceiptOutcome()
  if (firstOutcome !== undefined) return firstOutcome
  if ((await node.fetchTransactionCount(address, head)) <= nonce) return 'pending'
  // The nonce is used; the transaction may have been included between the two requests.
  const secondOutcome = await readReceiptOutcome()
  if (secondOutcome !== undefined) return secondOutcome
  // Nodes make the receipts of a block later than the block, and a node that knows the transaction did not lose it.
  return (await node.hasTransaction(hash)) ? 'pending' : 'lost'
}

/**
 * Fetches the receipt of a transaction; undefined while it is in no block. A receipt that is too large to read has many
 * logs, and a transaction with logs succeeded without using all its gas.
 */
async function fetchReceipt(
  node: EvmNode,
  hash: string,
): Promise<Pick<Receipt, 'block' | 'succeeded' | 'gasUsed'> | undefined> {
  try {
    return await node.fetchReceipt(hash)
  } catch (error) {
    if (!(error instanceof UnreadableAnswer && error.cause instanceof AnswerTooLargeError)) throw error
    const block = await node.fetchTransactionBlock(hash)
    return block === undefined ? undefined : { block, succeeded: true, gasUsed: 0n }
  }
}

/**
 * Tests whether a transaction ran out of gas. It then used nearly all its gas, but perhaps not all: an inner call gets
 * at most 63 of 64 parts of the gas that is left (EIP-150), and the outer call keeps the rest.
 */
function isExhausted(gasUsed: bigint, gasLimit: bigint): boolean {
  return gasUsed >= gasLimit - gasLimit / 16n
}
