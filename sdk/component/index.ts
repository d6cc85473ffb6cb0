/**
 * The module that authors of off-chain components in TypeScript import as `vouchsafe/component`. The module runs inside
 * the sandbox: every function is synchronous, whatever is not asked for through here does not exist, and what a call
 * changes takes effect when the hook returns. A hook that throws changes nothing, and the caller gets an error of the
 * engine.
 */
import { type Address, addressBytes, addressOf, parseAddress } from '../../src/offchain/address.ts'
import { hook, section } from '../../src/offchain/hosted.ts'
import { readHttpRequest, writeHttpResponse } from '../../src/offchain/http-data.ts'
import { type Reader, reader, writer } from '../../src/offchain/rpc.ts'
import { bodyDigest, type Context, contextOf } from './context.ts'
import { type Request, type Response, requestOf, responseData } from './http.ts'

export type { Address } from '../../src/offchain/address.ts'
export type { Context, Key, OutboundRequest, OutboundResponse, Storage, TimerStatus, Timers } from './context.ts'
export { json, type Request, type Response, text } from './http.ts'
export { addressBytes, addressOf, parseAddress }

/** An engine of the contract, as its state names it. */
export interface Engine {
  readonly address: Address
  /** The URL of the engine without a trailing slash; empty when the state names none. */
  readonly endpoint: string
}

/** The hooks of a component. All are optional; a component has at least one. */
export interface Component {
  /** Answers an HTTP request to `/offchain/<contract>/…`. */
  readonly http?: (request: Request, context: Context) => Response
  /**
   * Handles a change of the contract, which may have happened. Several changes may come as one, and the same may come
   * again: look at what the contract says now, and do what is still to be done.
   */
  readonly stateChange?: (context: Context) => void
  /** The functions of timers, by the id with which a timer was scheduled. */
  readonly timers?: Readonly<Record<number, (payload: Uint8Array, context: Context) => void>>
  /** Returns the engines in the state of a contract, on a chain whose contracts do not say them by an interface. */
  readonly engines?: (state: Uint8Array, context: Context) => readonly Engine[]
}

type Hook = (input: Uint8Array, stateLength: number) => Uint8Array

/**
 * Says what the component does. To be called once, when the script is loaded; there the engine cannot be asked
 * anything yet. Throws a TypeError that names a hook that there is not, or that is no function, so that a component
 * with one cannot be built.
 */
export function component(hooksByName: Component): void {
  refuseOtherHooks(hooksByName)
  const { http, stateChange, timers = {}, engines } = hooksByName
  const timerIds = Object.keys(timers).map(timerId)
  const entered = (run: Entered): Hook => enteredWith(timerIds, run)
  const hooks: Record<string, Hook> = {}
  if (http !== undefined) {
    hooks[hook.httpRequest] = entered((context, from) => {
      const response = atOnce(http(requestOf(readHttpRequest(from), bodyDigest), context))
      if (typeof (response as Partial<Response> | undefined)?.status !== 'number') {
        throw new TypeError('the http hook gave back no response; text() and json() make one')
      }
      return sections(section.httpResponse, writeHttpResponse(responseData(response)).done())
    })
  }
  if (stateChange !== undefined) {
    hooks[hook.stateChange] = entered((context) => nothing(stateChange, context))
  }
  if (engines !== undefined) {
    hooks[hook.engines] = entered((context, _from, state) =>
      sections(section.engines, writeEngines(atOnce(engines(state, context)))),
    )
  }
  for (const [id, run] of Object.entries(timers)) {
    hooks[`${hook.timer}${(timerId(id) >>> 0).toString(16)}`] = entered((context, from) =>
      nothing(run, from.rest().slice(), context),
    )
  }
  Object.assign(globalThis, { offChain: hooks })
}

const HOOKS = ['http', 'stateChange', 'timers', 'engines']

function refuseOtherHooks(hooks: Component): void {
  const { timers = {}, ...others } = hooks
  for (const name of Object.keys(others)) {
    if (!HOOKS.includes(name))
      throw new TypeError(`component() has no hook '${name}'; its hooks are ${HOOKS.join(', ')}`)
  }
  const functions: [string, unknown][] = Object.entries({ ...others, ...prefixed(timers) })
  for (const [name, run] of functions) {
    if (run !== undefined && typeof run !== 'function') throw new TypeError(`the hook ${name} is no function`)
  }
}

function prefixed(timers: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(timers).map(([id, run]) => [`timers[${timerId(id)}]`, run]))
}

/** Reads the id of a timer as a number of 32 bits. Throws a TypeError when `text` is none. */
function timerId(text: string): number {
  const id = Number(text)
  if (!Number.isInteger(id) || id < -(2 ** 31) || id >= 2 ** 32) {
    throw new TypeError(`timers['${text}']: the id of a timer is an integer of 32 bits`)
  }
  return id | 0
}

type Entered = (context: Context, from: Reader, state: Uint8Array) => Uint8Array

function enteredWith(timerIds: readonly number[], run: Entered): Hook {
  return (input, stateLength) => {
    const from = reader(input)
    const [contract, engine] = [addressOf(from.raw(21)), addressOf(from.raw(21))]
    const state = from.raw(stateLength)
    return run(contextOf(contract, engine, timerIds), from, state)
  }
}

function nothing<T extends unknown[]>(run: (...args: T) => unknown, ...args: T): Uint8Array {
  atOnce(run(...args))
  return new Uint8Array(0)
}

function atOnce<T>(result: T): T {
  if (result instanceof Promise)
    throw new TypeError('a hook gave back a promise; nothing in a component is asynchronous')
  return result
}

function sections(id: number, data: Uint8Array): Uint8Array {
  return writer().u8(id).bytes(data).done()
}

function writeEngines(engines: readonly Engine[]): Uint8Array {
  return writer()
    .list(engines, ({ address, endpoint }, to) => to.raw(addressBytes(address)).text(endpoint))
    .done()
}
