/** The collections of an execution engine, and their schema. */
import type { Address } from '../offchain/address.ts'
import { type EncryptionCollections, encryptionKeyCollection } from '../store/encrypted.ts'
import { type GenerationCollections, generationCollection } from '../store/generation.ts'
import { createCollection, type Migration, type Store } from '../store/store.ts'

/** A transaction that a component requested. It has no nonce before it is `signed`. */
export interface OutboxRow {
  readonly contract: Address
  /** The payload in base64. */
  readonly payload: string
  /** The gas as a decimal number. */
  readonly gas: string
  /** The time at which the component requested the transaction, in milliseconds since 1970. */
  readonly createdAt: number
  readonly signed?: { readonly hash: string; readonly nonce: number; readonly raw: string }
  /** The number of times that the transaction was included and ran out of its estimated gas. */
  readonly exhausted?: number
  /**
   * The number of times that another transaction used the nonce of the transaction, or that the account did not reach
   * it, by what the node said.
   */
  readonly lost?: number
}

export interface FailedTransaction {
  readonly contract: Address
  /** The hash of the signed transaction; undefined when the engine did not sign it, because it would have failed. */
  readonly hash?: string
  readonly why: string
  readonly at: number
}

export interface TimerRow {
  readonly contract: Address
  readonly id: number
  /** The payload in base64. */
  readonly payload: string
  readonly status: 'scheduled' | 'done' | 'cancelled' | 'failed'
  /**
   * The time at which the timer runs; for a timer that has ended, the time at which its row is deleted. Milliseconds
   * since 1970.
   */
  readonly at: number
  /** The number of runs that failed. */
  readonly attempts: number
}

export type EngineCollections = EncryptionCollections &
  GenerationCollections & {
    /**
     * The state of a contract, by address. The version of the row increases with every change of the contract's
     * storage, outbox or timers.
     */
    component_state: {
      readonly storageBytes: number
      /** The number of transactions that the contract requested on one day (UTC); days are counted from 1970. */
      readonly asked?: { readonly day: number; readonly transactions: number }
      /** The block at which the last change of the contract's storage, outbox or timers was computed. */
      readonly block?: { readonly number: number; readonly hash: string }
    }
    /**
     * The stored values. The id of a value is a MAC of its contract, bucket and key. `value` is in base64; `bytes` is
     * the size that counts towards the limit `storageBytes`, with bucket, key and row.
     */
    component_storage: { readonly value: string; readonly bytes: number }
    /** The transactions, in the order in which components requested them. */
    outbox: OutboxRow
    failed_transaction: FailedTransaction
    timer: TimerRow
    /** The ids of the signed requests that were accepted. A row is deleted when its request has expired. */
    spent_request: { readonly at: number }
    /** The id of the chain that this database is about, as the one row `current`. */
    chain: { readonly id: string }
  }

export type EngineStore = Store<EngineCollections>

/** The collections of the first schema. */
const FIRST_COLLECTIONS = [
  'component_state',
  'component_storage',
  'outbox',
  'failed_transaction',
  'timer',
  'spent_request',
]

export const engineMigrations: readonly Migration[] = [
  { id: 'engine-0001', statements: [...encryptionKeyCollection, ...FIRST_COLLECTIONS.flatMap(createCollection)] },
  { id: 'engine-0002', statements: generationCollection },
  { id: 'engine-0003', statements: createCollection('chain') },
]

/** The collections whose values are encrypted. The key is derived from the engine's own key. */
export const engineEncryptedCollections: readonly (keyof EngineCollections)[] = [
  'component_storage',
  'outbox',
  'failed_transaction',
  'timer',
]
