/**
 * The operations that a component may call while it runs (`offchain/hosted.ts`). The worker runs them itself where it
 * can, and asks the engine where it cannot.
 */
import { hash } from 'node:crypto'
import { memoize } from '../async/cache.ts'
import { addressBytes, addressOf } from '../offchain/address.ts'
import type { AuthenticatedRequest, AuthenticationInput } from '../offchain/authentication/authenticate.ts'
import { operation, timerStatus } from '../offchain/hosted.ts'
import { type HttpRequestData, readHttpRequest, writeHttpResponse } from '../offchain/http-data.ts'
import { type Reader, reader, writer } from '../offchain/rpc.ts'
import { createEffectCollector, type EffectCollector } from './effects.ts'
import { checkHostRequest } from './host-request.ts'
import { type CallMessage, CONTEXT_BYTES, type HostRequest, type HostResponse } from './messages.ts'
import type { Host, RuntimeLimits } from './runtime.ts'
import { Trap, trap, trapOverLimit } from './trap.ts'

/** The functions of the worker that the operations of a call use. */
export interface WorkerFunctions {
  readonly limits: RuntimeLimits
  readonly authenticate: (input: AuthenticationInput) => AuthenticatedRequest | undefined
  readonly random: (length: number) => Uint8Array
  /** Sends a host request to the engine, and blocks the thread until the engine responds. */
  readonly ask: (hostRequest: HostRequest) => HostResponse
}

export interface HostOperations {
  readonly effects: EffectCollector
  /**
   * Runs one operation. Throws a Trap when it fails; after the first trap every call throws it again, so that a
   * component that catches the exception cannot continue.
   */
  readonly call: (operation: number, operand: Uint8Array) => Uint8Array | undefined
  /** Traps the call for a failure outside an operation, as if an operation had failed. */
  readonly fail: (error: unknown) => never
  /** Returns the trap that ended the call, if any. */
  readonly getTrap: () => Trap | undefined
}

/**
 * The most bytes of values that a request may load, where `limits.storageValueBytes` does not allow more for a single
 * value. The engine's thread, which serves all requests, decrypts them, and anyone may send a request.
 */
const MAX_ASKED_BYTES = 8 * 1024 * 1024
/** The bytes as which each host request counts beside those that it loads. */
const HOST_REQUEST_BYTES = 1024

interface RunningCall extends Omit<WorkerFunctions, 'ask'> {
  /** Checks a host request, and sends it to the engine. */
  readonly ask: <M extends keyof Host>(ask: M, ...args: Parameters<Host[M]>) => HostResponse<M>
  /** Returns the timers of the contract. Asks the engine once in a call. */
  readonly listTimers: () => HostResponse<'listTimers'>
  /** Returns the generation of the database. Asks the engine once in a call. */
  readonly getGeneration: () => HostResponse<'getGeneration'>
  /** Counts bytes that the engine loads for the call. Traps when the limit is exceeded. */
  readonly countAsked: (bytes: number) => void
  readonly message: CallMessage
  readonly effects: EffectCollector
  /** The random bytes, requests, and reads of the contract that the limits still allow the call. */
  readonly remaining: { random: number; requests: number; reads: number }
}

type Operation = (from: Reader, running: RunningCall) => Uint8Array | undefined

/** Makes the operations of one call. `message` is the call, and `worker` is what the worker offers. */
export function createHostOperations(message: CallMessage, worker: WorkerFunctions): HostOperations {
  const { limits } = worker
  const effects = createEffectCollector(limits)
  const hostCalls = createHostCalls(message, worker)
  const remaining = {
    random: limits.randomBytes,
    requests: limits.outboundRequests,
    reads: limits[readLimitOf(message)],
  }
  const running: RunningCall = { ...worker, ...hostCalls, message, effects, remaining }
  let firstTrap: Trap | undefined
  const end = (error: unknown): never => {
    firstTrap ??= error instanceof Trap ? error : new Trap((error as Error).message)
    throw firstTrap
  }
  return {
    effects,
    call: (code, operand) => {
      if (firstTrap !== undefined) throw firstTrap
      try {
        return runOperation(code, operand, running)
      } catch (error) {
        return end(error)
      }
    },
    fail: end,
    getTrap: () => firstTrap,
  }
}

function createHostCalls(
  { expects }: CallMessage,
  worker: WorkerFunctions,
): Pick<RunningCall, 'ask' | 'listTimers' | 'getGeneration' | 'countAsked'> {
  const { limits } = worker
  const most =
    expects === 'response' ? Math.max(MAX_ASKED_BYTES, limits.storageValueBytes + HOST_REQUEST_BYTES) : Infinity
  let askedBytes = 0
  const countAsked = (bytes: number): void => {
    askedBytes += bytes
    if (askedBytes > most) trap(`the request asks the engine for too much: ${askedBytes} bytes; the most are ${most}`)
  }
  const ask: RunningCall['ask'] = (operationName, ...args) => {
    const hostRequest = { ask: operationName, args } as HostRequest
    checkHostRequest(hostRequest, limits)
    countAsked(HOST_REQUEST_BYTES)
    return worker.ask(hostRequest) as HostResponse<typeof operationName>
  }
  return {
    ask,
    countAsked,
    listTimers: memoize(() => ask('listTimers')),
    getGeneration: memoize(() => ask('getGeneration')),
  }
}

function runOperation(code: number, operand: Uint8Array, running: RunningCall): Uint8Array | undefined {
  const operate = operations[code] ?? trap(`operation 0x${(code >>> 0).toString(16)} is not one of this engine`)
  // The operand is copied, because effects keep parts of it, and the component may overwrite its memory.
  const from = reader(operand.slice())
  const result = trapErrors(code, () => operate(from, running))
  trapErrors(code, from.end)
  return result
}

function trapErrors<T>(code: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof Trap) throw error
    return trap(`operation 0x${code.toString(16)}: ${(error as Error).message}`)
  }
}

const operations: Readonly<Record<number, Operation>> = {
  [operation.sendTransaction]: (from, { effects, message }) => {
    const to = addressOf(from.raw(21))
    if (to !== message.contract) trap('a transaction may go to its own contract only')
    effects.transact(from.bytes(), from.u64())
    return undefined
  },
  [operation.storageStore]: (from, running) => {
    const [bucket, key] = readStorageName(from, running)
    const value = from.option(() => from.bytes())
    const { storageValueBytes } = running.limits
    if ((value?.length ?? 0) > storageValueBytes) {
      trapOverLimit('storageValueBytes', storageValueBytes, `a stored value has ${value?.length ?? 0} bytes`)
    }
    running.effects.store({ bucket, key, value })
    return undefined
  },
  [operation.storageLoad]: (from, running) => {
    const [bucket, key] = readStorageName(from, running)
    const ownValue = running.effects.getSeen(bucket, key)
    if (ownValue !== undefined) return ownValue.value
    const value = running.ask('load', bucket, key)
    running.countAsked(value?.length ?? 0)
    running.effects.noteLoaded(bucket, key, value)
    return value
  },
  [operation.sendHttpRequest]: (from, { ask, effects, remaining, limits }) => {
    const request = readHttpRequest(from)
    remaining.requests -= 1
    if (remaining.requests < 0)
      trapOverLimit('outboundRequests', limits.outboundRequests, 'too many requests to others in one call')
    const response = writeHttpResponse(ask('send', request)).done()
    effects.reserveBytes(response.length)
    return response
  },
  [operation.random]: (from, { random, remaining, limits }) => {
    const length = from.u32()
    remaining.random -= length
    if (remaining.random < 0) trapOverLimit('randomBytes', limits.randomBytes, 'too much randomness in one call')
    return random(length)
  },
  [operation.currentTime]: (_from, { message }) => writer().u64(BigInt(message.now)).done(),
  [operation.timerSpawn]: (from, { effects }) => {
    effects.changeTimer({ id: from.i32(), delayMs: 0, payload: from.bytes() })
    return undefined
  },
  [operation.timerStatus]: (from, running) => Uint8Array.of(timerStatusOf(from.i32(), running)),
  [operation.timerCancel]: (from, { effects }) => {
    effects.changeTimer({ id: from.i32(), cancel: true })
    return undefined
  },
  [operation.timerList]: (_from, running) => {
    const ids = [...readTimers(running)]
      .filter(([, status]) => status === timerStatus.scheduled || status === timerStatus.running)
      .map(([id]) => id)
    return writer()
      .list(ids, (id, to) => to.i32(id))
      .done()
  },
  [operation.timerSchedule]: (from, { effects }) => {
    const [id, delay, payload] = [from.i32(), from.i64(), from.bytes()]
    const delayMs = Number(delay < 0n ? 0n : delay)
    if (!Number.isSafeInteger(delayMs)) trap('a timer is later than any time')
    effects.changeTimer({ id, delayMs, payload })
    return undefined
  },
  [operation.configuration]: (from, { ask }) => {
    const value = ask('getConfiguration', from.text())
    return value === undefined ? undefined : Buffer.from(value)
  },
  [operation.authenticate]: (from, running) => authenticateSigner(from, running),
  [operation.readContract]: (from, { ask, effects, limits, message, remaining }) => {
    const input = from.bytes()
    remaining.reads -= 1
    if (remaining.reads < 0) {
      const name = readLimitOf(message)
      trapOverLimit(name, limits[name], 'too many reads of the contract in one call')
    }
    const answer = ask('readContract', input)
    effects.reserveBytes(answer.length)
    return answer
  },
  [operation.log]: (from, { effects }) => {
    effects.log(from.text())
    return undefined
  },
  [operation.generation]: (_from, { getGeneration }) => writer().text(getGeneration()).done(),
  [operation.bodyDigest]: (_from, { message }) =>
    message.expects === 'response' ? hash('sha256', readRequest(message).body, 'buffer') : undefined,
  [operation.block]: (_from, { message: { chain, block } }) =>
    writer().text(chain.id).u64(BigInt(block.number)).u64(BigInt(block.time)).done(),
}

/** Returns the name of the limit on the reads of a call: anyone may send requests, and a chain's changes cost a fee. */
function readLimitOf({ expects }: CallMessage): 'httpReads' | 'stateChangeReads' {
  return expects === 'response' ? 'httpReads' : 'stateChangeReads'
}

function readStorageName(from: Reader, { limits: { storageKeyBytes } }: RunningCall): [Uint8Array, Uint8Array] {
  const [bucket, key] = [from.bytes(), from.bytes()]
  const length = Math.max(bucket.length, key.length)
  if (length > storageKeyBytes) trapOverLimit('storageKeyBytes', storageKeyBytes, `a storage key has ${length} bytes`)
  return [bucket, key]
}

function timerStatusOf(id: number, running: RunningCall): number {
  return readTimers(running).get(id) ?? timerStatus.neverStarted
}

/** Returns the status of each timer by id: the engine's timers, with the changes of this call. */
function readTimers({ listTimers, effects }: RunningCall): Map<number, number> {
  const timers = new Map<number, number>(listTimers().map(({ id, status }) => [id, timerStatus[status]]))
  for (const timer of effects.listTimers()) {
    timers.set(timer.id, 'cancel' in timer ? timerStatus.cancelled : timerStatus.scheduled)
  }
  return timers
}

/** Reads the HTTP request of a call behind the addresses and the state. */
function readRequest({ input, stateLength }: CallMessage): HttpRequestData {
  return readHttpRequest(reader(input.subarray(CONTEXT_BYTES + stateLength)))
}

/**
 * Runs the operation `authenticate` (0x80): returns the address that signed the request of this call; undefined when
 * none of the listed addresses did, or the request was accepted before.
 */
function authenticateSigner(
  from: Reader,
  { ask, authenticate, effects, message }: RunningCall,
): Uint8Array | undefined {
  const addresses = from.list(() => addressOf(from.raw(21)))
  if (message.expects !== 'response') return undefined
  const request = { ...readRequest(message), ...(message.isHead && { method: 'HEAD' }) }
  const { engine, contract, chain, now } = message
  const signature = authenticate({ engine, contract, chain, request, now: new Date(now), addresses })
  if (signature === undefined) return undefined
  const { id, until, profile, address } = signature
  const isOlder = profile === 'secp256k1'
  // Existing clients of the older profile repeat an upload with the same signature; the component answers it again.
  const isRepeatable = isOlder && ['PUT', 'POST'].includes(request.method)
  if (!isRepeatable) {
    if (ask('isSpent', id)) return undefined
    effects.spend({ id, until, unlessRefused: isOlder })
  }
  effects.noteSigner(address)
  return addressBytes(address)
}
