/**
 * The messages between the engine's thread and a worker. A worker has one job at a time. While a job runs the worker
 * reads no message; it asks, sleeps on `signal`, and takes the answer from its port.
 */
import type { Address } from '../offchain/address.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'
import type { CallEffects, RuntimeLimits, TimerState } from './runtime.ts'

export interface WorkerData {
  /** A number that grows with each answer. */
  readonly signal: Int32Array
  readonly limits: RuntimeLimits
  /** QuickJS, compiled, with a bound on its memory. */
  readonly quickjs: WebAssembly.Module
}

/** The program by which a worker runs a component; the worker keeps it until told to forget it. */
export type Program =
  | {
      readonly kind: 'wasm'
      readonly module: WebAssembly.Module
      readonly memoryName: string
    }
  | { readonly kind: 'javascript'; readonly source: string }

export interface Job {
  /** The number of the job, which goes up with each job of a worker and is in every question and answer of the job. */
  readonly number: number
  readonly component: string
  /** The program of the component, with its first job. */
  readonly program: Program | undefined
  readonly forget: string | undefined
  /** Undefined asks for the hooks of a script. */
  readonly call: CallMessage | undefined
}

export interface CallMessage {
  readonly hook: string
  /** The context, the state, and what the hook is about. */
  readonly input: Uint8Array
  readonly stateLength: number
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: number }
  /** Milliseconds since 1970. */
  readonly now: number
  /** The version of {@link Call.storageVersion}. */
  readonly storageVersion: number | undefined
  /** The expected content of the result. */
  readonly expects: 'response' | 'engines' | 'nothing'
}

/** A question of one job that only the engine can answer. */
export interface QuestionMessage {
  readonly job: number
  readonly question: HostQuestion
}

export interface AnswerMessage {
  readonly job: number
  readonly answer: HostAnswer
}

export type HostQuestion =
  | { readonly ask: 'load'; readonly bucket: Uint8Array; readonly key: Uint8Array }
  | { readonly ask: 'contract'; readonly input: Uint8Array }
  | { readonly ask: 'send'; readonly request: HttpRequestData }
  | { readonly ask: 'configuration'; readonly key: string }
  | { readonly ask: 'timers' }
  | { readonly ask: 'generation' }
  | { readonly ask: 'spent'; readonly id: string }

export type HostAnswer =
  | Uint8Array
  | HttpResponseData
  | string
  | readonly TimerState[]
  | boolean
  | undefined
  | { readonly failed: string }

/**
 * The effects as a worker sends them: only the number of reads for a call that changed nothing, the most common case.
 */
export type SentEffects = CallEffects | Pick<CallEffects, 'reads'>

export type WorkerReport =
  | { readonly report: 'ready' }
  /** The hooks of a script that was asked about. */
  | { readonly report: 'hooks'; readonly hooks: readonly string[] }
  | {
      readonly report: 'done'
      readonly response: HttpResponseData | undefined
      readonly result: Uint8Array
      readonly effects: SentEffects
    }
  | { readonly report: 'trap' | 'bad-response'; readonly message: string; readonly log: readonly string[] }
