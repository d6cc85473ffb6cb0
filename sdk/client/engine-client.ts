/**
 * The client of an application that uses the engines of one contract: all of them, or as many as are needed. Nothing
 * here is logged, and the outside world is passed in.
 */
import type { ListedEngine } from '../../src/chain/chain.ts'
import type { Address } from '../../src/offchain/address.ts'
import {
  type CallContext,
  type CallLimits,
  callEngine,
  componentRefused,
  type EngineAnswer,
  type EngineRequest,
} from './call.ts'
import { type ChainReader, cacheEngineList, type EngineList, type EngineListOptions } from './engines.ts'
import { EngineError } from './errors.ts'
import { type FanOut, fanOut } from './fan-out.ts'
import { askWhenReady } from './retries.ts'

export interface EngineClientOptions extends Partial<CallLimits>, Pick<EngineListOptions, 'extract'> {
  readonly chain: ChainReader
  readonly contract: Address
  readonly fetch: typeof fetch
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  /** Resolves after so many milliseconds. */
  readonly wait: (ms: number) => Promise<void>
  /** The time for which the list of engines is cached; a minute unless given. */
  readonly engineListMs?: number
  /** The time for which `callAll` asks an engine again that says that it is not ready; ten seconds unless given. */
  readonly patienceMs?: number
}

export interface EngineClient {
  readonly chain: ChainReader
  readonly contract: Address
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly wait: (ms: number) => Promise<void>
  engines(): Promise<EngineList>
  /**
   * Sends one request to one engine. Rejects with an {@link EngineError} when there is no answer, or the engine itself
   * refuses; what the component says is an answer.
   */
  call(engine: ListedEngine, request: EngineRequest, signal?: AbortSignal): Promise<EngineAnswer>
  /**
   * Sends the same request to many engines at once, signed for each, until `enough` of them answered below 300 (all
   * unless given); the calls of the others are then aborted. An engine that says that it is not ready, and so did
   * nothing, is asked again. Never rejects for what engines do.
   */
  callAll(
    request: EngineRequest,
    choice?: { readonly among?: readonly ListedEngine[]; readonly enough?: number },
  ): Promise<FanOut<EngineAnswer>>
}

const DEADLINE_MS = 10_000
const MAX_BYTES = 1_048_576 + 65_536
const ENGINE_LIST_MS = 60_000
const READINESS_PATIENCE_MS = 10_000

export function engineClient(options: EngineClientOptions): EngineClient {
  const { chain, contract, fetch, now, random, wait, extract } = options
  const { deadlineMs = DEADLINE_MS, maxBytes = MAX_BYTES, requireSignature = false } = options
  const { patienceMs = READINESS_PATIENCE_MS } = options
  const engineList = cacheEngineList({ chain, contract, now, ttlMs: options.engineListMs ?? ENGINE_LIST_MS, extract })
  const limits = { deadlineMs, maxBytes, requireSignature }
  const context: CallContext = { fetch, now, random, keys: new Map(), limits, contract, chain }
  const call: EngineClient['call'] = async (engine, request, signal) => {
    try {
      return throwRefusal(await callEngine(context, engine, request, signal))
    } catch (error) {
      if (error instanceof EngineError && isListOutdated(error)) engineList.invalidate()
      throw error
    }
  }
  const callAll: EngineClient['callAll'] = async (request, choice = {}) => {
    const among = choice.among ?? (await engineList.get()).engines
    const one = async (engine: ListedEngine, signal: AbortSignal): Promise<EngineAnswer> => {
      const answer = await askWhenReady({ call, now, wait }, engine, request, { patienceMs, signal })
      if (answer.status >= 300) throw componentRefused(answer)
      return answer
    }
    const engineCount = new Set(among.map(({ address }) => address)).size
    return fanOut(among, choice.enough ?? engineCount, one)
  }
  return { chain, contract, now, random, wait, engines: () => engineList.get(), call, callAll }
}

/** The codes that an engine may give, those of `src/engine/problem.ts`; any other is not repeated. */
const PROBLEMS = new Set([
  'bad-request',
  'bad-address',
  'unauthorized',
  'unknown-contract',
  'no-http-hook',
  'not-found',
  'method-not-allowed',
  'request-timeout',
  'body-too-large',
  'target-too-long',
  'not-this-engine',
  'too-many-requests',
  'headers-too-large',
  'component-trap',
  'server-error',
  'bad-component-response',
  'stale-chain',
  'overloaded',
  'starting',
  'reconciling',
  'component-unavailable',
  'transaction-quota',
  'deadline',
  'storage-quota',
])

function throwRefusal(answer: EngineAnswer): EngineAnswer {
  const code = answer.headers.get('x-engine-error')
  if (code === null) return answer
  const { engine, status } = answer
  const problem = PROBLEMS.has(code) ? code : 'unknown'
  throw new EngineError(engine, 'engine-refused', { status, problem, message: `it refused: ${problem} (${status})` })
}

/**
 * Tests whether another list of engines may help: it serves the contract no more, or somebody else answers at its URL.
 */
function isListOutdated({ code, status, problem }: EngineError): boolean {
  return code === 'bad-signature' || status === 421 || (status === 404 && problem === 'unknown-contract')
}
