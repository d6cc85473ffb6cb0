/**
 * The component runtime port: runs one hook of one component in a sandbox, and returns the effects of the call. The
 * runtime applies no effect: the engine commits or discards them. `pool.ts` implements the port with worker threads.
 */
import type { Address } from '../offchain/address.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'

/** Bytes of a component: core WebAssembly, or a bundle of JavaScript that QuickJS runs. */
export interface ComponentCode {
  /** The SHA-256 of the bytes in hexadecimal, which identifies the component. */
  readonly sha256: string
  readonly bytes: Uint8Array
}

/** The kind of a component, and the hooks that it exports. */
export interface ComponentDescription {
  readonly kind: 'wasm' | 'javascript'
  readonly hooks: readonly string[]
}

export type Hook =
  /** With `isHead`, the request was sent and signed as HEAD, and the component sees it as GET. */
  | { readonly kind: 'http'; readonly request: HttpRequestData; readonly isHead?: boolean }
  | { readonly kind: 'state-change' }
  | { readonly kind: 'timer'; readonly id: number; readonly payload: Uint8Array }
  | { readonly kind: 'engines' }

export interface RuntimeLimits {
  readonly memoryBytes: number
  readonly moduleBytes: number
  readonly logBytes: number
  readonly responseBytes: number
  readonly storageKeyBytes: number
  readonly storageValueBytes: number
  readonly storageChanges: number
  readonly transactions: number
  readonly transactionBytes: number
  readonly timers: number
  readonly timerBytes: number
  readonly randomBytes: number
  readonly outboundRequests: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** The limits of an engine unless it is configured otherwise. */
export const DEFAULT_LIMITS: RuntimeLimits = {
  memoryBytes: 64 * MIB,
  moduleBytes: 8 * MIB,
  logBytes: 64 * KIB,
  responseBytes: MIB,
  storageKeyBytes: KIB,
  storageValueBytes: MIB,
  storageChanges: 1000,
  transactions: 16,
  transactionBytes: 128 * KIB,
  timers: 32,
  timerBytes: 64 * KIB,
  randomBytes: 64 * KIB,
  outboundRequests: 5,
}

/** The input of one call. */
export interface ComponentCall {
  readonly component: ComponentCode
  readonly hook: Hook
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: Date }
  readonly state: Uint8Array
  /** The engine's clock. */
  readonly now: Date
  readonly deadlineMs: number
  /**
   * Milliseconds that the call may wait for a worker before it ends as `overloaded`; without a limit when undefined.
   */
  readonly queueMs?: number | undefined
  /**
   * Version of the contract's storage. Workers cache reads while it is unchanged; the caller must not commit a call
   * that spanned a change. Undefined: nothing is cached.
   */
  readonly storageVersion?: number | undefined
}

/** The questions of a component that only the engine can answer. A rejection traps the component. */
export interface Host {
  load(bucket: Uint8Array, key: Uint8Array): Promise<Uint8Array | undefined>
  readContract(input: Uint8Array): Promise<Uint8Array>
  /**
   * Sends a request. Never rejects for what happens on the network: a status of 600 or more has the reason as the body.
   */
  send(request: HttpRequestData): Promise<HttpResponseData>
  getConfiguration(key: string): string | undefined
  listTimers(): Promise<readonly TimerState[]>
  /** Returns the generation of the engine's database, which is another one after a backup was restored. */
  getGeneration(): Promise<string>
  /** Tests whether a signed request with that id was accepted before. */
  isSpent(id: string): Promise<boolean>
}

export interface TimerState {
  readonly id: number
  readonly status: 'scheduled' | 'running' | 'done' | 'cancelled' | 'failed'
}

export interface StorageChange {
  readonly bucket: Uint8Array
  readonly key: Uint8Array
  /** Undefined deletes. */
  readonly value: Uint8Array | undefined
}

/** The effects of a call in the order in which it asked for them; of two changes of one key only the last is kept. */
export interface CallEffects {
  readonly storage: readonly StorageChange[]
  readonly transactions: readonly { readonly payload: Uint8Array; readonly gas: bigint }[]
  readonly timers: readonly (
    | { readonly id: number; readonly delayMs: number; readonly payload: Uint8Array }
    | { readonly id: number; readonly cancel: true }
  )[]
  /**
   * The signed requests that the call accepted, which the engine stores until `until`. With `unlessRefused`, a request
   * is stored only when the response has a status below 300.
   */
  readonly spentRequests: readonly { readonly id: string; readonly until: Date; readonly unlessRefused: boolean }[]
  readonly log: readonly string[]
  /** The signers of the request, as the operation `authenticate` answered: for the audit log. */
  readonly signers: readonly Address[]
  /** The number of values that were read from storage: a call with reads may have missed a concurrent change. */
  readonly reads: number
}

export type RunOutcome =
  | {
      readonly kind: 'done'
      readonly response: HttpResponseData | undefined
      /** The content of section 0x30 for the {@link Hook} `engines`; empty otherwise. */
      readonly result: Uint8Array
      readonly effects: CallEffects
    }
  /** `message` is for the operator's log; it may have data of callers in it. */
  | { readonly kind: 'trap'; readonly message: string; readonly log: readonly string[] }
  | { readonly kind: 'bad-response'; readonly message: string; readonly log: readonly string[] }
  | { readonly kind: 'deadline' }
  /** No worker was free within `queueMs`: the component has not run. */
  | { readonly kind: 'overloaded' }

export interface Runtime {
  /**
   * Describes the component by its bytes. Rejects with a ComponentError, in words for its author, when they cannot be
   * run under these limits.
   */
  describe(component: ComponentCode): Promise<ComponentDescription>
  /** Runs a call. Never rejects for what the component does. */
  run(call: ComponentCall, host: Host): Promise<RunOutcome>
  /** Returns the numbers of running calls, of calls that wait for a worker, and of workers. */
  getLoad(): { readonly running: number; readonly waiting: number; readonly workers: number }
  close(): Promise<void>
}

/** The error for bytes that are not a component; `message` says what is wrong with the bytes. */
export class ComponentError extends Error {
  override readonly name = 'ComponentError'
}
