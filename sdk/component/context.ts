/**
 * The context of a call: what a component may ask of its engine, as functions over the operations of
 * `src/offchain/hosted.ts`.
 */
import { type Address, addressBytes, addressOf, parseAddress } from '../../src/offchain/address.ts'
import { operation } from '../../src/offchain/hosted.ts'
import { type Header, headerValue, readResponse, writeRequest } from '../../src/offchain/http-data.ts'
import { reader, writer } from '../../src/offchain/rpc.ts'

/** A key in storage; a text stands for its UTF-8. */
export type Key = string | Uint8Array

export interface Context {
  readonly contract: Address
  /** The engine that runs this. */
  readonly engine: Address
  readonly chainId: string
  /** The block at which the contract is read. */
  readonly block: { readonly number: number; readonly time: Date }
  /** Returns the values that this engine keeps for this contract in a bucket. */
  storage(bucket: Key): Storage
  /**
   * Sends a transaction to the contract in the engine's name, when the hook has returned. `gas` 0 or none: as much as
   * it needs.
   */
  transact(payload: Uint8Array, options?: { readonly gas?: bigint }): void
  /**
   * Reads an answer of the contract at {@link Context.block}. EVM: call data in, and what the function returns. Throws
   * nothing: a refusal ends the call.
   */
  read(input: Uint8Array): Uint8Array
  /**
   * Sends a request to a host that the operator allows. Never throws for what happens on the network: a status of 600
   * or more says that there was no answer.
   */
  fetch(request: OutboundRequest): OutboundResponse
  /** Returns `length` random bytes. */
  random(length: number): Uint8Array
  /** Returns the time of the engine's clock. */
  now(): Date
  /**
   * Returns a text that changes when a backup of this engine's storage was restored. Whatever must never be used twice,
   * such as a nonce that is stored, is to be bound to it.
   */
  generation(): string
  /** Returns the value that the operator has configured under that name; undefined without one. */
  config(key: string): string | undefined
  readonly timers: Timers
  /**
   * Returns the one of `addresses` that signed this HTTP request, spelled as it was given; undefined when none of them
   * did, or the request was used before. Takes 20 bytes in hexadecimal with or without `0x`, or 21 bytes, in either
   * case. Throws an Error that names an address that is none.
   */
  authenticate(addresses: readonly Address[]): Address | undefined
  /** Writes to the operator's log. The text must have no secrets, since others may read it. */
  log(text: string): void
}

export interface Storage {
  /** Returns the value of a key; undefined when there is none. */
  get(key: Key): Uint8Array | undefined
  set(key: Key, value: Key): void
  delete(key: Key): void
}

export type TimerStatus = 'done' | 'running' | 'cancelled' | 'never-started' | 'failed' | 'scheduled'

export interface Timers {
  /**
   * Has `timers[id]` run in so many milliseconds; the same id takes the place of what was scheduled. Throws an Error
   * where the component has no such function.
   */
  schedule(id: number, delayMs: number, payload?: Uint8Array): void
  cancel(id: number): void
  status(id: number): TimerStatus
  /** Lists the timers that are scheduled, or run. */
  list(): number[]
}

export interface OutboundRequest {
  readonly url: string
  /** The method; GET unless given. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Key
}

export interface OutboundResponse {
  readonly status: number
  header(name: string): string | undefined
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

/** The one function that the engine gives to a script. */
declare const hosted: (operation: number, operand: Uint8Array) => Uint8Array | undefined

const EMPTY = new Uint8Array(0)
const STATUSES: readonly (TimerStatus | undefined)[] = [
  undefined,
  ...(['done', 'running', 'cancelled', 'never-started', 'failed', 'scheduled'] as const),
]

/** Makes the context of one call. `timerIds` are those that the component has a function for. */
export function contextOf(contract: Address, engine: Address, timerIds: readonly number[]): Context {
  let block: CurrentBlock | undefined
  const current = (): CurrentBlock => {
    block ??= readBlock()
    return block
  }
  return {
    contract,
    engine,
    get chainId() {
      return current().chainId
    },
    get block() {
      return current()
    },
    storage: (bucket) => storageOf(bytesOf(bucket)),
    transact: (payload, { gas = 0n } = {}) => {
      hosted(operation.sendTransaction, writer().raw(addressBytes(contract)).bytes(payload).u64(gas).done())
    },
    read: (input) => answer(operation.readContract, writer().bytes(input).done()),
    fetch: outbound,
    random: (length) => answer(operation.random, writer().u32(length).done()),
    now: () => new Date(Number(reader(answer(operation.currentTime, EMPTY)).u64())),
    generation: () => reader(answer(operation.generation, EMPTY)).text(),
    config: (key) => {
      const value = hosted(operation.configuration, writer().text(key).done())
      return value && new TextDecoder().decode(value)
    },
    timers: timersOf(timerIds),
    authenticate,
    log: (text) => {
      hosted(operation.log, writer().text(text).done())
    },
  }
}

/** Returns the SHA-256 of the body of the request that the call answers. */
export function bodyDigest(): Uint8Array {
  return answer(operation.bodyDigest, EMPTY)
}

function authenticate(addresses: readonly Address[]): Address | undefined {
  const parsed = addresses.map((address) => parseAddress(String(address)))
  const operand = writer().list(parsed, (address, to) => to.raw(addressBytes(address)))
  const signer = hosted(operation.authenticate, operand.done())
  return signer && addresses[parsed.indexOf(addressOf(signer))]
}

type CurrentBlock = Context['block'] & { readonly chainId: string }

function readBlock(): CurrentBlock {
  const from = reader(answer(operation.block, EMPTY))
  return { chainId: from.text(), number: Number(from.u64()), time: new Date(Number(from.u64())) }
}

function storageOf(bucket: Uint8Array): Storage {
  const operandOf = (key: Key): ReturnType<typeof writer> => writer().bytes(bucket).bytes(bytesOf(key))
  const store = (key: Key, value: Uint8Array | undefined): void => {
    hosted(
      operation.storageStore,
      operandOf(key)
        .option(value, (bytes, to) => to.bytes(bytes))
        .done(),
    )
  }
  return {
    get: (key) => hosted(operation.storageLoad, operandOf(key).done()),
    set: (key, value) => {
      store(key, bytesOf(value))
    },
    delete: (key) => {
      store(key, undefined)
    },
  }
}

function timersOf(ids: readonly number[]): Timers {
  return {
    ...timers,
    schedule: (id, delayMs, payload) => {
      if (!ids.includes(id)) {
        const own = ids.length === 0 ? 'has no timers' : `has timers ${ids.join(', ')}`
        throw new Error(`no function runs when timer ${id} is due: component({ timers }) ${own}`)
      }
      timers.schedule(id, delayMs, payload)
    },
  }
}

const timers: Timers = {
  schedule: (id, delayMs, payload = EMPTY) => {
    hosted(
      operation.timerSchedule,
      writer()
        .i32(id)
        .i64(BigInt(Math.ceil(delayMs)))
        .bytes(payload)
        .done(),
    )
  },
  cancel: (id) => {
    hosted(operation.timerCancel, writer().i32(id).done())
  },
  status: (id) => STATUSES[answer(operation.timerStatus, writer().i32(id).done())[0] ?? 0] ?? 'never-started',
  list: () => reader(answer(operation.timerList, EMPTY)).list((from) => from.i32()),
}

function outbound({ url, method = 'GET', headers = {}, body = EMPTY }: OutboundRequest): OutboundResponse {
  const list = Object.entries(headers).map(([name, value]) => ({ name, values: [value] }))
  const request = writeRequest({ method, uri: url, headers: list, body: bytesOf(body) })
  const response = readResponse(answer(operation.sendHttpRequest, request.done()))
  return { ...response, header: (name) => headerValue(response, name) }
}

function answer(code: number, operand: Uint8Array): Uint8Array {
  return hosted(code, operand) ?? EMPTY
}

function bytesOf(key: Key): Uint8Array {
  return typeof key === 'string' ? new TextEncoder().encode(key) : key
}
