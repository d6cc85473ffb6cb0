/**
 * The chain port: the operations of a chain that an engine and its clients use. `chain.contract.ts` defines their
 * behaviour. `evm/` implements them over JSON-RPC, which `local/` answers from a directory; `partisia/` implements them
 * over the REST interface of a reader node.
 */
import type { Address } from '../offchain/address.ts'

export interface Block {
  readonly number: number
  /** The hash in hexadecimal, with the prefix that this chain uses. */
  readonly hash: string
  readonly time: Date
}

/** The block at which an engine answers, with the newest block of the chain. */
export interface Head extends Block {
  /** The newest block of the node. Confirmations are counted from the head to this block. */
  readonly newest: Block
}

export interface ListedEngine {
  readonly address: Address
  /** The URL of the engine without a trailing slash; empty when the contract names no valid one. */
  readonly endpoint: string
}

/** A contract that has an off-chain component, as it was read at a block. */
export interface OffChainContract {
  readonly address: Address
  /** The engines; undefined when the state does not list them in a documented way (see `hook.engines`). */
  readonly engines: readonly ListedEngine[] | undefined
  /**
   * The SHA-256 of the component in hexadecimal, and the URL of its bytes; undefined when the contract names no
   * component, so that only the operator can configure it.
   */
  readonly component: { readonly sha256: string; readonly uri: string } | undefined
  /** The serialized state of the contract; empty on an EVM, where contracts are read by calls. */
  readonly state: Uint8Array
}

/** A signed transaction. It may be sent more than once, since it can be included only once. */
export interface SignedTransaction {
  readonly hash: string
  readonly nonce: number
  readonly raw: string
}

/**
 * The outcome of a transaction. `unconfirmed`: it is in a block that {@link Chain.fetchHead} has not reached.
 * `exhausted`: it was included and ran out of gas; with more gas it may succeed. `lost`: by what the node knows,
 * another transaction used its nonce, so that it can never be included. `expired`: the time in which a block may
 * include it is over, and its nonce is not used.
 */
export type TransactionOutcome = 'pending' | 'unconfirmed' | 'included' | 'failed' | 'exhausted' | 'lost' | 'expired'

export interface Chain {
  /** The decimal chain id of an EVM; the name of the network on Partisia. */
  readonly id: string
  /** The way in which the address of a public key is derived: by keccak-256, or by SHA-256 as on Partisia. */
  readonly addresses: 'evm' | 'partisia'
  /**
   * Returns the newest block that has the configured number of confirmations. Rejects with a ChainError when the chain
   * cannot be asked.
   */
  fetchHead(): Promise<Head>
  /** Tests whether this block is still part of the chain. */
  hasBlock(block: Pick<Block, 'number' | 'hash'>): Promise<boolean>
  /** Lists every contract with an off-chain component. Absent where the chain cannot list them. */
  listContracts?(block: Block): Promise<readonly Address[]>
  /** Reads a contract; undefined when there is none, or it has no off-chain component. */
  fetchContract(address: Address, block: Block): Promise<OffChainContract | undefined>
  /**
   * Calls a contract for reading. {@link operation.readContract} describes `input`. Rejects with a ChainError, which is
   * `refused` when the contract refuses, or its answer is too large.
   */
  read(address: Address, input: Uint8Array, block: Block): Promise<Uint8Array>
  /** Returns those of `addresses` that may have changed in the blocks after `from`, up to and including `to`. */
  listChanged(addresses: readonly Address[], from: Block, to: Block): Promise<readonly Address[]>
  /**
   * Makes the account of a secp256k1 private key of 32 bytes. Without a limit in `limits`, that of the chain applies.
   * `getReachedNumber` returns the number of the block at which the caller reads contracts, undefined before the first.
   * With it, a transaction counts as refused by its contract when the contract refuses it at that block too: a node
   * that lacks that block may not know what the transaction depends on.
   */
  createAccount(key: Uint8Array, limits?: SpendingLimits, getReachedNumber?: () => number | undefined): Account
}

export const WEI_PER_GWEI = 10n ** 9n
/** The bounds and the default of a limit on the price of a unit of gas, in gwei. A node alone says the price. */
export const GAS_PRICE_GWEI = { least: 1, most: 1_000_000_000, standard: 1000 } as const
/** The most wei that a unit of gas may cost by default. */
export const DEFAULT_MAX_GAS_PRICE = BigInt(GAS_PRICE_GWEI.standard) * WEI_PER_GWEI

/** The most that an account spends on a transaction. */
export interface SpendingLimits {
  /** The most gas of a transaction; `sign` refuses one that needs more. */
  readonly mostGas?: bigint | undefined
  /**
   * The most that a unit of gas may cost, in the smallest unit of the coin of the chain; `sign` rejects with a
   * ChainError, which is `failed`, while it costs more.
   */
  readonly mostGasPrice?: bigint | undefined
}

export interface Account {
  readonly address: Address
  /**
   * Whether an empty transaction of the account to itself uses a nonce and does nothing else. False where that is not
   * known.
   */
  readonly canFillNonces: boolean
  /**
   * Returns the nonce of the account's next transaction. Transactions that wait to be included are counted on EVM
   * chains, and not on Partisia.
   */
  fetchNextNonce(): Promise<number>
  /**
   * Signs a transaction to a contract, without sending it. With `gas` 0, the account chooses the gas. Rejects with a
   * ChainError, which is `refused` when the transaction would fail, or no node would accept it.
   */
  sign(to: Address, payload: Uint8Array, gas: bigint, nonce: number): Promise<SignedTransaction>
  /** Sends a signed transaction, for the first time or again. */
  submit(transaction: SignedTransaction): Promise<void>
  /**
   * Looks up the outcome of a transaction. It counts as `included` when {@link Chain.fetchHead} has reached its block.
   */
  fetchOutcome(transaction: SignedTransaction): Promise<TransactionOutcome>
}

/**
 * How a request to a chain failed. `unreachable`: no request can succeed now, because the chain cannot be asked, or is
 * the wrong one. `failed`: this request failed, and may succeed later; others can succeed now. `refused`: this request
 * was refused, in most cases by the contract, and would be refused again.
 */
export type ChainFailure = 'unreachable' | 'failed' | 'refused'

interface ChainErrorOptions extends ErrorOptions {
  /** `unreachable` when absent. */
  readonly kind?: ChainFailure
}

/** The error of a chain. The message is for the operator. */
export class ChainError extends Error {
  override readonly name = 'ChainError'
  readonly kind: ChainFailure
  constructor(message: string, { kind = 'unreachable', ...options }: ChainErrorOptions = {}) {
    super(message, options)
    this.kind = kind
  }
}

/** Tests whether an error is about one request only, so that other requests to the chain can succeed. */
export function isAboutOneRequest(error: unknown): error is ChainError {
  return error instanceof ChainError && error.kind !== 'unreachable'
}

/** Tests whether no request to the chain can succeed now. */
export function isOutOfReach(error: unknown): error is ChainError {
  return error instanceof ChainError && error.kind === 'unreachable'
}

/** Tests whether the chain could not be asked, and so has not refused either. */
export function isOutage(error: unknown): error is ChainError {
  return error instanceof ChainError && error.kind !== 'refused'
}

/** Tests whether an error says that the request would be refused again. */
export function isRefused(error: unknown): error is ChainError {
  return error instanceof ChainError && error.kind === 'refused'
}
