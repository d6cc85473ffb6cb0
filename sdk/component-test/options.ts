/** The options of the engine that a test simulates. */
import type { RuntimeLimits } from '../../src/component/runtime.ts'
import type { HttpRequestData, HttpResponseData } from '../../src/offchain/http-data.ts'

/** The storage of a component; texts stand for their UTF-8. */
export interface TestStorage {
  get(bucket: string | Uint8Array, key: string | Uint8Array): Uint8Array | undefined
  set(bucket: string | Uint8Array, key: string | Uint8Array, value: string | Uint8Array): void
  delete(bucket: string | Uint8Array, key: string | Uint8Array): void
  readonly size: number
}

export interface Options {
  /** The contract's address; `0x11…` unless given. */
  readonly contract?: string
  /** The address of the engine that runs the component; `0x22…` unless given. */
  readonly engine?: string
  readonly chain?: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly now?: Date
  readonly limits?: Partial<RuntimeLimits>
  /** Milliseconds for each call; 5,000 unless given. */
  readonly deadlineMs?: number
  /** Answers for the contract. A function that throws stands for a refusal. */
  readonly read?: (input: Uint8Array) => Uint8Array
  /** Answers requests to other servers. Without the function there are none: status 600. */
  readonly fetch?: (request: HttpRequestData) => HttpResponseData
  /**
   * The generation of the engine's database. Change it to test what becomes of a component whose engine was restored
   * from a backup.
   */
  readonly generation?: string
  readonly config?: Readonly<Record<string, string>>
  /** The storage when the test begins. */
  readonly storage?: TestStorage
}
