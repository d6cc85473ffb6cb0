/**
 * The component runtime port: runs one hook of one component in a sandbox, and returns the effects of the call. The
 * runtime applies no effect: the engine commits or discards them. `component-runtime.ts` implements the port, on the
 * worker threads of `pool.ts`.
 */
import type { Address } from '../offchain/address.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'

/** The bytes of a component: a module of core WebAssembly, or a JavaScript bundle for QuickJS. */
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
  /** With `isHead`, the request was sent and signed as HEAD; the component gets it as GET. */
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
  readonly outboundBytes: number
  readonly httpReads: number
  readonly stateChangeReads: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** The default limits of an engine. */
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
  outboundBytes: MIB,
  httpReads: 64,
  stateChangeReads: 2048,
}

/**
 * The pauses after failures of a hook or a timer, and the number of failures after which an engine gives it up. An
 * engine alone uses them and {@link ROUND_MS}, but sdk/component-test, which may not import one, imitates it.
 */
export const CALL_RETRY = { firstMs: 1000, longestMs: 300_000, maxAttempts: 8 } as const

/**
 * The longest time between two rounds of an engine over hooks, timers and transactions. A timer that a timer schedules
 * runs in the next round at the earliest.
 */
export const ROUND_MS = 250

/** The input of one call. */
export interface ComponentCall {
  readonly component: ComponentCode
  readonly hook: Hook
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: Date }
  readonly state: Uint8Array
  /** The time of the engine's clock. */
  readonly now: Date
  readonly deadlineMs: number
  /** The milliseconds that the call may wait for a worker before it ends as `overloaded`; undefined for no limit. */
  readonly queueMs?: number | undefined
  /**
   * The version of the contract's storage. Workers cache loaded values for as long as the version stays the same. The
   * caller must not commit a call during which it changed. When undefined, nothing is cached.
   */
  readonly storageVersion?: number | undefined
}

/**
 * The operations of a component that only the engine can run. When one rejects with a Trap, the component traps. Any
 * other error is an outage, for which the component is not to blame, and ends the call.
 */
export interface Host {
  load(bucket: Uint8Array, key: Uint8Array): Promise<Uint8Array | undefined>
  readContract(input: Uint8Array): Promise<Uint8Array>
  /**
   * Sends a request. Does not reject for network errors: these have a status of 600 or more, and the reason as the
   * body.
   */
  send(request: HttpRequestData): Promise<HttpResponseData>
  getConfiguration(key: string): string | undefined
  listTimers(): Promise<readonly TimerState[]>
  /** Returns the generation of the engine's database, which changes when a backup is restored. */
  getGeneration(): Promise<string>
  /** Tests whether a signed request with that id was accepted before (replay protection). */
  isSpent(id: string): Promise<boolean>
}

export interface TimerState {
  readonly id: number
  readonly status: 'scheduled' | 'running' | 'done' | 'cancelled' | 'failed'
}

export interface StorageChange {
  readonly bucket: Uint8Array
  readonly key: Uint8Array
  /** The new value; undefined deletes the entry. */
  readonly value: Uint8Array | undefined
}

/** The effects of a call, in the order of its operations. Of several changes of one key only the last is kept. */
export interface CallEffects {
  readonly storage: readonly StorageChange[]
  readonly transactions: readonly { readonly payload: Uint8Array; readonly gas: bigint }[]
  readonly timers: readonly (
    | { readonly id: number; readonly delayMs: number; readonly payload: Uint8Array }
    | { readonly id: number; readonly cancel: true }
  )[]
  /**
   * The signed requests that the call accepted. The engine stores their ids until `until`. With `unlessRefused`, an id
   * is stored only when the response has a status below 300.
   */
  readonly spentRequests: readonly { readonly id: string; readonly until: Date; readonly unlessRefused: boolean }[]
  readonly log: readonly string[]
  /** The addresses that the operation `authenticate` returned, for the audit log. */
  readonly signers: readonly Address[]
  /**
   * The number of values that were loaded from storage. With more than one, two of them may be of two versions of the
   * contract's row.
   */
  readonly reads: number
}

/** Tests whether an engine stores the id of a signed request; `status` is that of the response to it, if any. */
export function isAccepted({ unlessRefused }: CallEffects['spentRequests'][number], status = 200): boolean {
  return !unlessRefused || status < 300
}

export type RunOutcome =
  | {
      readonly kind: 'done'
      readonly response: HttpResponseData | undefined
      /** The content of section 0x30 for the {@link Hook} `engines`; empty otherwise. */
      readonly result: Uint8Array
      readonly effects: CallEffects
    }
  /** `message` is for the operator's log, and may quote data of callers. */
  | { readonly kind: 'trap'; readonly message: string; readonly log: readonly string[] }
  | { readonly kind: 'bad-response'; readonly message: string; readonly log: readonly string[] }
  | { readonly kind: 'deadline' }
  /** No worker was free within `queueMs`; the component has not run. */
  | { readonly kind: 'overloaded' }
  /** An operation of {@link Host} rejected with `error`, or was silent until the deadline: a {@link SilenceError}. */
  | { readonly kind: 'outage'; readonly error: unknown; readonly log: readonly string[] }
  /** The runtime was closed before the end of the call. */
  | { readonly kind: 'stopped' }

export interface Runtime {
  /**
   * Checks a component, and returns its kind and hooks. Rejects with a ComponentError, whose message is for the author,
   * when it cannot be run under these limits.
   */
  describe(component: ComponentCode): Promise<ComponentDescription>
  /** Runs a call. Does not reject for errors of the component: these are outcomes. */
  run(call: ComponentCall, host: Host): Promise<RunOutcome>
  /** Returns the numbers of running calls, of waiting calls, and of workers. */
  getLoad(): { readonly running: number; readonly waiting: number; readonly workers: number }
  close(): Promise<void>
}

/** The error of an outage in which an operation of the engine did not answer before the deadline of the call. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError'
  readonly operation: keyof Host
  constructor(operation: keyof Host) {
    super(`the engine did not answer ${operation} before the deadline of the call`)
    this.operation = operation
  }
}

/** The error for bytes that are not a valid component. The message is for the author of the component. */
export class ComponentError extends Error {
  override readonly name = 'ComponentError'
}
