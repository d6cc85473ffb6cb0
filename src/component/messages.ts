/**
 * The messages between the engine's thread and a worker, and how these become calls and outcomes of the runtime. A
 * worker has one job at a time. While a job runs the worker reads no message; it asks, sleeps on `signal`, and takes
 * the answer from its port.
 */
import { type Address, addressBytes } from '../offchain/address.ts'
import { hook as hookNames } from '../offchain/hosted.ts'
import { type HttpRequestData, type HttpResponseData, writeRequest } from '../offchain/http-data.ts'
import { writer } from '../offchain/rpc.ts'
import type { CallEffects, ComponentCall, Hook, Host, RunOutcome, RuntimeLimits, TimerState } from './runtime.ts'

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

export interface JobMessage {
  /** The number of the job, which goes up with each job of a worker and is in every question and answer of the job. */
  readonly number: number
  readonly component: string
  /** The program of the component, with its first job. */
  readonly program: Program | undefined
  /** Undefined asks for the hooks of a script. */
  readonly call: CallMessage | undefined
}

export interface CallMessage {
  readonly hook: string
  /** The context, the state, and what the hook is about. */
  readonly input: Uint8Array
  readonly stateLength: number
  /** Whether the request of the input was sent and signed as HEAD. */
  readonly isHead?: boolean
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: number }
  /** Milliseconds since 1970. */
  readonly now: number
  /** The version of {@link ComponentCall.storageVersion}. */
  readonly storageVersion: number | undefined
  /** The expected content of the result. */
  readonly expects: 'response' | 'engines' | 'nothing'
}

/** A question of one job that only the engine can answer. */
export interface QuestionMessage {
  readonly job: number
  readonly question: HostQuestion
}

/** The engine's word to a worker that a component is not cached any more. */
export interface ForgetMessage {
  readonly forget: string
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

const NO_EFFECTS = { storage: [], transactions: [], timers: [], spentRequests: [], signers: [], log: [] } as const

export type JobOutcome = Exclude<WorkerReport, { report: 'ready' }> | { readonly report: 'deadline' | 'overloaded' }

/** Converts the outcome of a job to that of a call. */
export function runOutcomeOf(outcome: JobOutcome): RunOutcome {
  switch (outcome.report) {
    case 'done':
      return {
        kind: 'done',
        response: outcome.response,
        result: outcome.result,
        effects: { ...NO_EFFECTS, ...outcome.effects },
      }
    case 'hooks':
      return { kind: 'trap', message: 'internal error: a worker answered a call with a list of hooks', log: [] }
    case 'deadline':
    case 'overloaded':
      return { kind: outcome.report }
    default:
      return { kind: outcome.report, message: outcome.message, log: outcome.log }
  }
}

/** Returns the message with which a worker gets a call: the name of the hook, and the input in the RPC format. */
export function callMessage(call: ComponentCall): CallMessage {
  const { contract, engine, chain, block, hook, state, now } = call
  const input = writer().raw(addressBytes(contract)).raw(addressBytes(engine)).raw(state)
  if (hook.kind === 'http') writeRequest(hook.request, input)
  if (hook.kind === 'timer') input.raw(hook.payload)
  return {
    hook: hookName(hook),
    input: input.done(),
    stateLength: state.length,
    isHead: hook.kind === 'http' && hook.isHead === true,
    contract,
    engine,
    chain: { id: chain.id, addresses: chain.addresses },
    block: { number: block.number, time: block.time.getTime() },
    now: now.getTime(),
    storageVersion: call.storageVersion,
    expects: hook.kind === 'http' ? 'response' : hook.kind === 'engines' ? 'engines' : 'nothing',
  }
}

function hookName(hook: Hook): string {
  switch (hook.kind) {
    case 'http':
      return hookNames.httpRequest
    case 'state-change':
      return hookNames.stateChange
    case 'engines':
      return hookNames.engines
    case 'timer':
      return `${hookNames.timer}${(hook.id >>> 0).toString(16)}`
  }
}

/** Passes a question that a component asks during its call to the engine. */
export async function askHost(host: Host, question: HostQuestion): Promise<HostAnswer> {
  switch (question.ask) {
    case 'load':
      return host.load(question.bucket, question.key)
    case 'contract':
      return host.readContract(question.input)
    case 'send':
      return host.send(question.request)
    case 'configuration':
      return host.getConfiguration(question.key)
    case 'timers':
      return host.listTimers()
    case 'generation':
      return host.getGeneration()
    case 'spent':
      return host.isSpent(question.id)
  }
}
