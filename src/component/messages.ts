/**
 * What the engine's thread and a worker tell each other. A worker has one job at a time. While it runs one it answers
 * to nothing; it asks, sleeps on `signal`, and takes the answer from its port.
 */
import type { Address } from '../offchain/address.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'
import type { CallEffects, RuntimeLimits, TimerState } from './runtime.ts'

export interface WorkerData {
  /** One number, which grows with each answer. */
  readonly signal: Int32Array
  readonly limits: RuntimeLimits
  /** QuickJS, compiled, with a bound on its memory. */
  readonly quickjs: WebAssembly.Module
}

/** What a worker runs a component from; it keeps it until it is told to forget it. */
export type Program =
  | {
      readonly kind: 'wasm'
      readonly module: WebAssembly.Module
      readonly memoryName: string
    }
  | { readonly kind: 'javascript'; readonly source: string }

export interface Job {
  /** Goes up with each job of a worker; what is asked and answered for it has it too. */
  readonly number: number
  readonly component: string
  /** With the first job of a component. */
  readonly program: Program | undefined
  readonly forget: string | undefined
  /** Undefined asks for the hooks of a script. */
  readonly call: CallMessage | undefined
}

export interface CallMessage {
  readonly hook: string
  /** Context, state, and what the hook is about. */
  readonly input: Uint8Array
  readonly stateLength: number
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: number }
  /** Milliseconds since 1970. */
  readonly now: number
  /** {@link Call.storageVersion} */
  readonly storageVersion: number | undefined
  /** What its result is to have in it. */
  readonly expects: 'response' | 'engines' | 'nothing'
}

/** What only the engine can answer, for one job. */
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

/** Of a call that did nothing but read only how often: the most common, and cheap to send. */
export type SentEffects = CallEffects | Pick<CallEffects, 'reads'>

export type WorkerReport =
  | { readonly report: 'ready' }
  /** Its hooks, of a script that was asked about. */
  | { readonly report: 'hooks'; readonly hooks: readonly string[] }
  | {
      readonly report: 'done'
      readonly response: HttpResponseData | undefined
      readonly result: Uint8Array
      readonly effects: SentEffects
    }
  | { readonly report: 'trap' | 'bad-response'; readonly message: string; readonly log: readonly string[] }
