/** The collections of an execution engine, and their schema. */
import type { Address } from '../offchain/address.ts'
import { type EncryptionCollections, encryptionKeyCollection } from '../store/encrypted.ts'
import { type GenerationCollections, generationCollection } from '../store/generation.ts'
import { createCollection, type Migration, type Store } from '../store/store.ts'

/** A transaction that a component asked for. Without `signed` it has no nonce yet. */
export interface OutboxRow {
  readonly contract: Address
  /** The payload in base64. */
  readonly payload: string
  /** The gas as a decimal number. */
  readonly gas: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly signed?: { readonly hash: string; readonly nonce: number; readonly raw: string }
  /** How often it was included and ran out of the gas that it was estimated to need. */
  readonly exhausted?: number
}

export interface FailedTransaction {
  readonly contract: Address
  /** Undefined when it was never signed, since it would have failed. */
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
  /** Milliseconds since the epoch: when it runs; of one that is over, until when that is remembered. */
  readonly at: number
  /** The number of runs that did not end well. */
  readonly attempts: number
}

export type EngineCollections = EncryptionCollections &
  GenerationCollections & {
    /**
     * The state of a contract by its address: a row whose version goes up with every change of its storage, outbox or
     * timers.
     */
    component_state: {
      readonly storageBytes: number
      /** Transactions that it asked for in a day of UTC; days are counted from 1970. */
      readonly asked?: { readonly day: number; readonly transactions: number }
      /** The block that the last change of it all was computed at. */
      readonly block?: { readonly number: number; readonly hash: string }
    }
    /**
     * The stored values by a MAC of contract, bucket and key. `value` is in base64; `bytes` is what the value counts,
     * its key included.
     */
    component_storage: { readonly value: string; readonly bytes: number }
    /** The transactions in the order in which components asked for them. */
    outbox: OutboxRow
    failed_transaction: FailedTransaction
    timer: TimerRow
    /** The signed requests that were accepted, by their ids, until they could not be accepted any more. */
    spent_request: { readonly at: number }
  }

export type EngineStore = Store<EngineCollections>

const FIRST = ['component_state', 'component_storage', 'outbox', 'failed_transaction', 'timer', 'spent_request']

export const engineMigrations: readonly Migration[] = [
  { id: 'engine-0001', statements: [...encryptionKeyCollection, ...FIRST.flatMap(createCollection)] },
  { id: 'engine-0002', statements: generationCollection },
]

/** The collections whose values are encrypted, with a key that is derived from the engine's own. */
export const engineEncryptedCollections: readonly (keyof EngineCollections)[] = [
  ...(['component_storage', 'outbox', 'failed_transaction', 'timer'] as const),
]

/** A time after every other: with it `due` finds all rows that have a time, with their versions. */
export const FAR = new Date(8.64e15)
