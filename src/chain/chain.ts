/**
 * The chain port: what an engine and its clients need of a chain. `chain.contract.ts` is its definition; `evm/`
 * implements it over JSON-RPC, which `local/` answers from a directory, and `partisia/` over the REST interface of a
 * reader node.
 */
import type { Address } from '../offchain/address.ts'

export interface Block {
  readonly number: number
  /** The hash in hexadecimal, with the prefix that the chain gives it. */
  readonly hash: string
  readonly time: Date
}

/** The block at which an engine answers, with the newest block of the chain. */
export interface Head extends Block {
  /** The newest block that the node has, on which the confirmations of this one are counted. */
  readonly newest: Block
}

export interface ListedEngine {
  readonly address: Address
  /** The URL of the engine without a trailing slash; empty when the contract names none that can be read. */
  readonly endpoint: string
}

/** A contract's statement of its off-chain component. */
export interface OffChainContract {
  readonly address: Address
  /** The engines; undefined when the state does not list them in a documented way (see `hook.engines`). */
  readonly engines: readonly ListedEngine[] | undefined
  /**
   * The component by its SHA-256 in hexadecimal, with the URL of its bytes; undefined when the contract names none, or
   * the operator configures it.
   */
  readonly component: { readonly sha256: string; readonly uri: string } | undefined
  /** The whole state of the contract; empty on an EVM, whose contracts are read by calls. */
  readonly state: Uint8Array
}

/** A transaction that is signed and ready to be sent; sending it twice is harmless. */
export interface SignedTransaction {
  readonly hash: string
  readonly nonce: number
  readonly raw: string
}

/**
 * The outcome of a transaction. `exhausted`: the transaction failed because it ran out of its gas; more, by a later
 * state of the contract, may be enough. `lost`: another transaction used the nonce, so that this one can never be
 * included.
 */
export type TransactionOutcome = 'pending' | 'included' | 'failed' | 'exhausted' | 'lost'

export interface Chain {
  /** The decimal chain id of an EVM; the name of the network on Partisia. */
  readonly id: string
  /** How the address of a public key is made: keccak-256, or SHA-256 as on Partisia. */
  readonly addresses: 'evm' | 'partisia'
  /**
   * Returns the newest block that is final enough, by what the operator configured. Rejects with a ChainError when the
   * chain cannot be asked.
   */
  fetchHead(): Promise<Head>
  /** Tests whether this block is still part of the chain. */
  hasBlock(block: Pick<Block, 'number' | 'hash'>): Promise<boolean>
  /** Lists every contract with an off-chain component, where the chain can list them. */
  listContracts?(block: Block): Promise<readonly Address[]>
  /** Reads a contract; undefined when there is none, or it has no off-chain component. */
  fetchContract(address: Address, block: Block): Promise<OffChainContract | undefined>
  /**
   * Reads an answer of the contract; `input` as {@link operation.readContract} says. Rejects with a ChainError when it
   * refuses.
   */
  read(address: Address, input: Uint8Array, block: Block): Promise<Uint8Array>
  /** Returns those of `addresses` that may have changed in the blocks after `from`, up to and with `to`. */
  listChanged(addresses: readonly Address[], from: Block, to: Block): Promise<readonly Address[]>
  /**
   * Makes the account of a key: `key` is its secp256k1 private key, 32 bytes. None of its transactions has more gas
   * than `mostGas`, and one that needs more is refused by `sign`; without it, the chain's own limit holds.
   */
  createAccount(key: Uint8Array, mostGas?: bigint): Account
}

export interface Account {
  readonly address: Address
  /** Returns the nonce of the account's next transaction, after those that wait to be included. */
  fetchNextNonce(): Promise<number>
  /**
   * Signs a transaction to a contract, and does not send it. `gas` 0 stands for as much as it needs. Rejects with a
   * ChainError when the transaction would fail, or no node would take it.
   */
  sign(to: Address, payload: Uint8Array, gas: bigint, nonce: number): Promise<SignedTransaction>
  /** Sends a signed transaction, for the first time or again. */
  submit(transaction: SignedTransaction): Promise<void>
  /** Looks up the outcome of a transaction, which is included once {@link Chain.fetchHead} has reached its block. */
  fetchOutcome(transaction: SignedTransaction): Promise<TransactionOutcome>
}

/**
 * The error of a chain, whose `message` is for an operator. `reverted`: the call was refused for its content, by the
 * contract most often, and would be again; otherwise the chain could not be asked.
 */
export class ChainError extends Error {
  override readonly name = 'ChainError'
  readonly reverted: boolean
  constructor(message: string, reverted = false, options?: ErrorOptions) {
    super(message, options)
    this.reverted = reverted
  }
}

/**
 * The error of a chain that was asked and has no answer that can be used, perhaps to this one question alone, so that
 * others may go on.
 */
export class ChainRefusal extends ChainError {}
