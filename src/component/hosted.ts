/**
 * The operations that a component may ask for while it runs (`offchain/hosted.ts`), as the worker answers them: from
 * the call itself where it can, and by asking the engine where it cannot.
 */
import { addressBytes, addressOf } from '../offchain/address.ts'
import type { AuthenticatedRequest, AuthenticationInput } from '../offchain/authentication/authenticate.ts'
import { operation } from '../offchain/hosted.ts'
import { type HttpResponseData, readHttpRequest, writeHttpResponse } from '../offchain/http-data.ts'
import { type Reader, reader, writer } from '../offchain/rpc.ts'
import { type CollectedEffects, collectEffects } from './effects.ts'
import type { CallMessage, HostAnswer, HostQuestion } from './messages.ts'
import type { RuntimeLimits, TimerState } from './runtime.ts'
import { overLimit, Trap, trap } from './trap.ts'

/** The effects that the worker gives to a call. */
export interface HostedEffects {
  readonly limits: RuntimeLimits
  readonly authenticate: (input: AuthenticationInput) => AuthenticatedRequest | undefined
  readonly random: (length: number) => Uint8Array
  /** Sleeps until the engine has answered. */
  readonly ask: (question: HostQuestion) => HostAnswer
}

export interface Hosted {
  readonly effects: CollectedEffects
  /**
   * Runs one operation. Throws a Trap; after the first it throws at every call, so that what catches exceptions inside
   * the component gains nothing.
   */
  readonly call: (operation: number, operand: Uint8Array) => Uint8Array | undefined
  /** Ends the call for another failure of what the component asked, as if an operation had failed. */
  readonly fail: (error: unknown) => never
  /** Returns the trap that ended the call, if any. */
  readonly ended: () => Trap | undefined
}

interface Running extends HostedEffects {
  readonly message: CallMessage
  readonly effects: CollectedEffects
  /** The rest of the limits that are for the whole call. */
  readonly left: { random: number; requests: number }
}

type Operate = (from: Reader, running: Running) => Uint8Array | undefined

export function hostedCall(message: CallMessage, workerEffects: HostedEffects): Hosted {
  const effects = collectEffects(workerEffects.limits)
  const { randomBytes: random, outboundRequests: requests } = workerEffects.limits
  const running: Running = { ...workerEffects, message, effects, left: { random, requests } }
  let ended: Trap | undefined
  const end = (error: unknown): never => {
    ended ??= error instanceof Trap ? error : new Trap((error as Error).message)
    throw ended
  }
  return {
    effects,
    call: (code, operand) => {
      if (ended !== undefined) throw ended
      try {
        return operate(code, operand, running)
      } catch (error) {
        return end(error)
      }
    },
    fail: end,
    ended: () => ended,
  }
}

function operate(code: number, operand: Uint8Array, running: Running): Uint8Array | undefined {
  const run = operations[code] ?? trap(`operation 0x${(code >>> 0).toString(16)} is not one of this engine`)
  // A copy, since kept values must not change with the component's memory.
  const from = reader(operand.slice())
  const result = read(code, () => run(from, running))
  read(code, from.end)
  return result
}

function read<T>(code: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof Trap) throw error
    return trap(`operation 0x${code.toString(16)}: ${(error as Error).message}`)
  }
}

const operations: Readonly<Record<number, Operate>> = {
  [operation.sendTransaction]: (from, { effects, message }) => {
    const to = addressOf(from.raw(21))
    if (to !== message.contract) trap('a transaction may go to its own contract only')
    effects.transact(from.bytes(), from.u64())
    return undefined
  },
  [operation.storageStore]: (from, running) => {
    const [bucket, key] = storageName(from, running)
    const value = from.option(() => from.bytes())
    const { storageValueBytes } = running.limits
    if ((value?.length ?? 0) > storageValueBytes) {
      overLimit('storageValueBytes', storageValueBytes, `a stored value has ${value?.length ?? 0} bytes`)
    }
    running.effects.store({ bucket, key, value })
    return undefined
  },
  [operation.storageLoad]: (from, running) => {
    const [bucket, key] = storageName(from, running)
    const written = running.effects.stored(bucket, key)
    if (written !== undefined) return written.value
    const value = running.ask({ ask: 'load', bucket, key }) as Uint8Array | undefined
    running.effects.loaded(bucket, key, value)
    return value
  },
  [operation.sendHttpRequest]: (from, { ask, effects, left, limits }) => {
    const request = readHttpRequest(from)
    left.requests -= 1
    if (left.requests < 0)
      overLimit('outboundRequests', limits.outboundRequests, 'too many requests to others in one call')
    const response = writeHttpResponse(ask({ ask: 'send', request }) as HttpResponseData).done()
    effects.hold(response.length)
    return response
  },
  [operation.random]: (from, { random, left, limits }) => {
    const length = from.u32()
    left.random -= length
    if (left.random < 0) overLimit('randomBytes', limits.randomBytes, 'too much randomness in one call')
    return random(length)
  },
  [operation.currentTime]: (_from, { message }) => writer().u64(BigInt(message.now)).done(),
  [operation.timerSpawn]: (from, { effects }) => {
    effects.timer({ id: from.i32(), delayMs: 0, payload: from.bytes() })
    return undefined
  },
  [operation.timerStatus]: (from, running) => Uint8Array.of(statusOf(from.i32(), running)),
  [operation.timerCancel]: (from, { effects }) => {
    effects.timer({ id: from.i32(), cancel: true })
    return undefined
  },
  [operation.timerList]: (_from, running) => {
    const ids = [...timersNow(running)].filter(([, status]) => status === SCHEDULED || status === 2).map(([id]) => id)
    return writer()
      .list(ids, (id, to) => to.i32(id))
      .done()
  },
  [operation.timerSchedule]: (from, { effects }) => {
    const [id, delay, payload] = [from.i32(), from.i64(), from.bytes()]
    const delayMs = Number(delay < 0n ? 0n : delay)
    if (!Number.isSafeInteger(delayMs)) trap('a timer is later than any time')
    effects.timer({ id, delayMs, payload })
    return undefined
  },
  [operation.configuration]: (from, { ask }) => {
    const value = ask({ ask: 'configuration', key: from.text() }) as string | undefined
    return value === undefined ? undefined : Buffer.from(value)
  },
  [operation.authenticate]: (from, running) => signer(from, running),
  [operation.readContract]: (from, { ask, effects }) => {
    const answer = ask({ ask: 'contract', input: from.bytes() }) as Uint8Array
    effects.hold(answer.length)
    return answer
  },
  [operation.log]: (from, { effects }) => {
    effects.log(from.text())
    return undefined
  },
  [operation.generation]: (_from, { ask }) =>
    writer()
      .text(ask({ ask: 'generation' }) as string)
      .done(),
  [operation.block]: (_from, { message: { chain, block } }) =>
    writer().text(chain.id).u64(BigInt(block.number)).u64(BigInt(block.time)).done(),
}

function storageName(from: Reader, { limits: { storageKeyBytes } }: Running): [Uint8Array, Uint8Array] {
  const [bucket, key] = [from.bytes(), from.bytes()]
  const length = Math.max(bucket.length, key.length)
  if (length > storageKeyBytes) overLimit('storageKeyBytes', storageKeyBytes, `a storage key has ${length} bytes`)
  return [bucket, key]
}

const CANCELLED = 3
const NEVER_STARTED = 4
const SCHEDULED = 6
const STATUS: Readonly<Record<TimerState['status'], number>> = {
  done: 1,
  running: 2,
  cancelled: CANCELLED,
  failed: 5,
  scheduled: SCHEDULED,
}

function statusOf(id: number, running: Running): number {
  return timersNow(running).get(id) ?? NEVER_STARTED
}

/** Returns the engine's timers as this call has changed them. */
function timersNow({ ask, effects }: Running): Map<number, number> {
  const stored = ask({ ask: 'timers' }) as readonly TimerState[]
  const timers = new Map(stored.map(({ id, status }) => [id, STATUS[status]]))
  for (const timer of effects.timers()) timers.set(timer.id, 'cancel' in timer ? CANCELLED : SCHEDULED)
  return timers
}

/** Answers operation 0x80: the address that signed the request of this call, unless it was used before. */
function signer(from: Reader, { ask, authenticate, effects, message }: Running): Uint8Array | undefined {
  const addresses = from.list(() => addressOf(from.raw(21)))
  if (message.expects !== 'response') return undefined
  const input = reader(message.input.subarray(42 + message.stateLength))
  const request = readHttpRequest(input)
  const { engine, contract, chain, now } = message
  const authenticated = authenticate({ engine, contract, chain, request, now: new Date(now), addresses })
  if (authenticated === undefined) return undefined
  const { id, until, profile, address } = authenticated
  const isOlder = profile === 'secp256k1'
  // Existing clients of the older profile repeat one signature of an upload; the component answers it like the first.
  const isRepeatable = isOlder && ['PUT', 'POST'].includes(request.method)
  if (!isRepeatable) {
    if (ask({ ask: 'spent', id }) === true) return undefined
    effects.spend({ id, until, unlessRefused: isOlder })
  }
  effects.signed(address)
  return addressBytes(address)
}
