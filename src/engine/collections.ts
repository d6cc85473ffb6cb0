/** The collections of an execution engine, and their schema. */
import type { Address } from '../offchain/address.ts'
import { type EncryptionCollections, encryptionKeyCollection } from '../store/encrypted.ts'
import { type GenerationCollections, generationCollection } from '../store/generation.ts'
import { createCollection, type Migration, type Store } from '../store/store.ts'

/** A transaction that a component asked for. The row has no nonce until it has `signed`. */
export interface OutboxRow {
  readonly contract: Address
  /** The payload in base64. */
  readonly payload: string
  /** The gas as a decimal number. */
  readonly gas: string
  /** The time at which the component asked for the transaction, in milliseconds since 1970. */
  readonly createdAt: number
  readonly signed?: { readonly hash: string; readonly nonce: number; readonly raw: string }
  /** The number of times that the transaction was included and ran out of its estimated gas. */
  readonly exhausted?: number
}

export interface FailedTransaction {
  readonly contract: Address
  /** The hash of the signed transaction; undefined when the engine never signed it, since it would have failed. */
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
  /** The time at which the timer runs, or, once it has ended, at which its row is deleted: milliseconds since 1970. */
  readonly at: number
  /** The number of runs that failed. */
  readonly attempts: number
}

export type EngineCollections = EncryptionCollections &
  GenerationCollections & {
    /**
     * The state of a contract by its address. The version of the row goes up with every change of the storage, the
     * outbox or the timers of the contract.
     */
    component_state: {
      readonly storageBytes: number
      /** The number of transactions that the contract asked for in a day of UTC; days are counted from 1970. */
      readonly asked?: { readonly day: number; readonly transactions: number }
      /** The block at which the last change of the contract's storage, outbox or timers was computed. */
      readonly block?: { readonly number: number; readonly hash: string }
    }
    /**
     * The stored values, each under a MAC of its contract, bucket and key. The `value` is in base64; `bytes` is its
     * size in the limit `storageBytes`, with bucket and key.
     */
    component_storage: { readonly value: string; readonly bytes: number }
    /** The transactions in the order in which components asked for them. */
    outbox: OutboxRow
    failed_transaction: FailedTransaction
    timer: TimerRow
    /** The signed requests that were accepted, by their ids; each row is deleted when its request has expired. */
    spent_request: { readonly at: number }
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
]

/** The collections whose values are encrypted, with a key that is derived from the engine's own. */
export const engineEncryptedCollections: readonly (keyof EngineCollections)[] = [
  'component_storage',
  'outbox',
  'failed_transaction',
  'timer',
]
