/**
 * The messages between the engine's thread and a worker, and their conversion from calls and to outcomes of the
 * runtime. A worker has one job at a time. While a job runs, the worker does not handle messages as they arrive: it
 * posts a host request, waits on `signal`, and reads the response from its port.
 */
import { type Address, addressBytes } from '../offchain/address.ts'
import { type HttpResponseData, writeRequest } from '../offchain/http-data.ts'
import { writer } from '../offchain/rpc.ts'
import { hookName } from './hooks.ts'
import type { CallEffects, ComponentCall, Host, RunOutcome, RuntimeLimits } from './runtime.ts'
import { trap } from './trap.ts'

export interface WorkerData {
  /** A number that the engine increments with each answer; the worker waits for its change. */
  readonly signal: Int32Array
  readonly limits: RuntimeLimits
  /** The compiled QuickJS, with a limit on its memory. */
  readonly quickjs: WebAssembly.Module
}

/** The program of a component. A worker keeps it until it gets a {@link ForgetMessage}. */
export type Program =
  | {
      readonly kind: 'wasm'
      readonly module: WebAssembly.Module
      readonly memoryName: string
    }
  | { readonly kind: 'javascript'; readonly source: string }

export interface JobMessage {
  /** The number of the job, which increases with each job of a worker. Host requests and their responses have it. */
  readonly number: number
  /** The SHA-256 of the component. */
  readonly sha256: string
  /** The program of the component; undefined when the worker has it already. */
  readonly program: Program | undefined
  /** The call to run; undefined in a job that lists the hooks of a script. */
  readonly call: CallMessage | undefined
}

export interface CallMessage {
  readonly hook: string
  /**
   * The input of the hook: the addresses of contract and engine, the state, and then the request or the payload of the
   * timer.
   */
  readonly input: Uint8Array
  readonly stateLength: number
  /** Whether the request was sent and signed as HEAD; the input says GET. */
  readonly isHead?: boolean
  readonly contract: Address
  readonly engine: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly block: { readonly number: number; readonly time: number }
  /** Milliseconds since 1970. */
  readonly now: number
  /** The same as {@link ComponentCall.storageVersion}. */
  readonly storageVersion: number | undefined
  /** The part of the result that the engine uses. */
  readonly expects: 'response' | 'engines' | 'nothing'
}

/** Sends a host request of one job to the engine. */
export interface HostRequestMessage {
  readonly job: number
  readonly hostRequest: HostRequest
}

/** Tells a worker to drop a component, whose program the engine does not cache any more. */
export interface ForgetMessage {
  /** The SHA-256 of the component. */
  readonly forget: string
}

/** The reason for which the engine could not answer; the call traps. */
export interface FailedResponse {
  readonly failed: string
}

export interface HostResponseMessage {
  readonly job: number
  readonly hostResponse: HostResponse | FailedResponse
}

/** A host request that only the engine can answer: the name of an operation of {@link Host}, and its arguments. */
export type HostRequest = {
  readonly [M in keyof Host]: { readonly ask: M; readonly args: Parameters<Host[M]> }
}[keyof Host]

/** The result of an operation of {@link Host}. */
export type HostResponse<M extends keyof Host = keyof Host> = Awaited<ReturnType<Host[M]>>

/**
 * The effects as a worker sends them. For a call that changed nothing, the most common case, they are only the number
 * of reads.
 */
export type SentEffects = CallEffects | Pick<CallEffects, 'reads'>

export type WorkerReport =
  | { readonly report: 'ready' }
  /** The hooks of a script, for a job without a call. */
  | { readonly report: 'hooks'; readonly hooks: readonly string[] }
  | {
      readonly report: 'done'
      readonly response: HttpResponseData | undefined
      readonly result: Uint8Array
      readonly effects: SentEffects
    }
  | { readonly report: 'trap' | 'bad-response'; readonly message: string; readonly log: readonly string[] }

const NO_EFFECTS = { storage: [], transactions: [], timers: [], spentRequests: [], signers: [], log: [] } as const

export type JobOutcome =
  | Exclude<WorkerReport, { report: 'ready' }>
  | { readonly report: 'deadline' | 'overloaded' | 'stopped' }
  | { readonly report: 'outage'; readonly error: unknown; readonly log: readonly string[] }

/** Converts the outcome of a job to the outcome of a call. */
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
    case 'stopped':
      return { kind: outcome.report }
    case 'outage':
      return { kind: 'outage', error: outcome.error, log: outcome.log }
    default:
      return { kind: outcome.report, message: outcome.message, log: outcome.log }
  }
}

/** The bytes of the input before the state: the addresses of contract and engine. */
export const CONTEXT_BYTES = 42

/** Converts a call to the message for a worker: the name of the hook, and its input in the RPC format. */
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

/** Runs the operation that a component requested, and returns its result. Rejects as the operation does. */
export async function callHost(host: Host, { ask, args }: HostRequest): Promise<HostResponse> {
  // A component that breaks out of its sandbox may name anything, such as `valueOf`.
  if (!Object.hasOwn(host, ask)) trap(`the engine has no operation ${ask}`)
  return (host[ask] as (...args: HostRequest['args']) => HostResponse | Promise<HostResponse>)(...args)
}
