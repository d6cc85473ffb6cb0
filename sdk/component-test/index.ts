/**
 * The module that tests of a component import as `vouchsafe/component-test`: the component in the real sandbox, under
 * an engine of which the test decides everything: storage in memory, a clock that stands until it is moved, what the
 * contract answers, who answers requests. `vouchsafe component test FILE` runs such a test; so does anything else that
 * runs node:test or assertions.
 */

import { DEFAULT_LIMITS, type Hook } from '../../src/component/runtime.ts'
import { type Address, parseAddress } from '../../src/offchain/address.ts'
import { type HttpRequestData, type HttpResponseData, headerValue } from '../../src/offchain/http-data.ts'
import { readComponent } from '../../src/toolchain/bundle.ts'
import { startRuntime } from '../../src/toolchain/places.ts'
import type { Options, TestStorage } from './options.ts'
import { applyOutcome, createHarnessState, type HarnessState, type Transaction } from './state.ts'

export type { Options, TestStorage as Storage } from './options.ts'
export type { Transaction } from './state.ts'

export interface TestRequest {
  /** The method; GET unless given. */
  readonly method?: string
  /** The target with its query: `/shares/1?x=2`. */
  readonly uri: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface TestResponse {
  readonly status: number
  readonly body: Uint8Array
  header(name: string): string | undefined
  text(): string
  json(): unknown
}

/** A component, and all that it has changed so far. A call that traps changes nothing, and rejects with the reason. */
export interface Harness {
  readonly contract: Address
  readonly engine: Address
  readonly hooks: readonly string[]
  /** The transactions that the component has sent, in their order. */
  readonly transactions: readonly Transaction[]
  readonly storage: TestStorage
  readonly log: readonly string[]
  readonly block: { number: number; time: Date }
  /** Returns the time of the engine's clock. */
  now(): Date
  http(request: TestRequest): Promise<TestResponse>
  stateChange(): Promise<void>
  /**
   * Moves the clock, and runs the timers that are due by then, each at its time. A timer that a timer schedules runs
   * 250 milliseconds later at the earliest. Rejects when a timer traps, at its time: the timer runs again after the
   * pause that an engine makes, one second at first, and has failed after eight runs.
   */
  advance(milliseconds: number): Promise<void>
  /** Ends the use of the worker; a test ends without this call as well. */
  close(): Promise<void>
}

/**
 * Returns the component of a file: TypeScript or JavaScript that is bundled first, or a WebAssembly module (`.wasm`).
 */
export async function loadComponent(file: string | URL, options: Options = {}): Promise<Harness> {
  const component = await readComponent(file instanceof URL ? decodeURIComponent(file.pathname) : file)
  const runtime = await startRuntime(1, { ...DEFAULT_LIMITS, ...options.limits })
  const { hooks } = await runtime.describe(component)
  const contract = parseAddress(options.contract ?? '11'.repeat(20))
  const engine = parseAddress(options.engine ?? '22'.repeat(20))
  const { chain = { id: '31337', addresses: 'evm' }, deadlineMs = 5_000 } = options
  const state: HarnessState = createHarnessState(options)
  const run = async (hook: Hook): Promise<HttpResponseData | undefined> => {
    const call = { component, hook, contract, engine, chain, block: state.block, now: state.now, deadlineMs }
    return applyOutcome(state, hook.kind, await runtime.run({ ...call, state: new Uint8Array(0) }, state.host))
  }
  return {
    contract,
    engine,
    hooks,
    transactions: state.transactions,
    storage: state.storage,
    log: state.log,
    block: state.block,
    now: () => state.now,
    http: async (request) => responseOf(await run({ kind: 'http', request: requestData(request) })),
    stateChange: async () => {
      await run({ kind: 'state-change' })
    },
    advance: (milliseconds) => advance(state, run, milliseconds),
    close: () => runtime.close(),
  }
}

async function advance(
  state: HarnessState,
  run: (hook: Hook) => Promise<unknown>,
  milliseconds: number,
): Promise<void> {
  const until = state.now.getTime() + milliseconds
  for (let due = state.takeDue(until); due !== undefined; due = state.takeDue(until)) {
    try {
      await run({ kind: 'timer', id: due.id, payload: due.payload })
    } catch (error) {
      due.failed()
      throw error
    }
    due.done()
  }
  state.now = new Date(until)
}

function requestData({ method = 'GET', uri, headers = {}, body = '' }: TestRequest): HttpRequestData {
  const list = Object.entries(headers).map(([name, value]) => ({ name: name.toLowerCase(), values: [value] }))
  return { method, uri, headers: list, body: typeof body === 'string' ? Buffer.from(body) : body }
}

function responseOf(response: HttpResponseData | undefined): TestResponse {
  if (response === undefined) throw new Error('The hook gave no response.')
  const text = (): string => Buffer.from(response.body).toString('utf8')
  return {
    status: response.status,
    body: response.body,
    header: (name) => headerValue(response, name),
    text,
    json: () => JSON.parse(text()) as unknown,
  }
}
