/** Calls of a local chain that change nothing: `eth_call`, and how much gas a transaction would take. */
import { isObject, own } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { revertReason } from '../evm/revert.ts'
import { data, readData, readNumber, readQuantity } from '../evm/values.ts'
import { JsonRpcError, REVERTED } from '../json-rpc.ts'
import { BLOCK_GAS, type Message, type Result } from './execute.ts'
import type { Entry, Ledger, Tried } from './ledger.ts'
import { addressText, entryAt } from './params.ts'
import { viewOf } from './state.ts'
import { tellsGas } from './tells-gas.ts'
import { TimeIsUp } from './turns.ts'

const FAILED = -32000
const NOBODY = `0x${'00'.repeat(20)}`

/** What the contract returns. Rejects with a JsonRpcError when it refuses, fails, or takes too long. */
export async function called(ledger: Ledger, call: unknown, tag: unknown): Promise<Uint8Array> {
  const { result } = await succeeded(ledger, trialOf(ledger, messageOf(call), entryAt(ledger, tag), tag))
  return result.returned
}

/** What SSTORE must find, whatever it takes (EIP-2200). */
const SSTORE_SENTRY = 2300n
/** One part in so many of an estimate may be too much. */
const TOLERANCE = 32n
/** Then what is known to be enough will do. */
const LOOKING_MS = 2000

/** Enough gas, and not much more than enough: a call may pass on 63 of 64 parts only (EIP-150), and is paid back at its end. */
export async function estimated(ledger: Ledger, call: unknown, tag: unknown): Promise<bigint> {
  const message = messageOf(call)
  const entry = entryAt(ledger, tag)
  const trial = (gasLimit: bigint): Trial => trialOf(ledger, { ...message, gasLimit }, entry, tag)
  const tried = await succeeded(ledger, trial(message.gasLimit))
  const { gasTaken } = tried.result
  const code = message.to === undefined ? message.input : ledger.state.code.at(message.to, entry.block.number)
  if (code === undefined || code.length === 0) return gasTaken
  if (!tellsGas(code)) {
    const enough = least(gasTaken + SSTORE_SENTRY, message.gasLimit)
    ledger.remember(tried, enough)
    return enough
  }
  return between(gasTaken - 1n, message.gasLimit, (gasLimit) => isEnough(ledger, trial(gasLimit)))
}

/** No, also where it would take too long. */
async function isEnough(ledger: Ledger, trial: Trial): Promise<boolean> {
  try {
    return (await run(ledger, trial)).failure === undefined
  } catch (error) {
    if (error instanceof JsonRpcError) return false
    throw error
  }
}

/** Looks for the least that is enough; first near what is too little, where it most often is. */
async function between(
  tooLittle: bigint,
  enough: bigint,
  suffices: (gas: bigint) => Promise<boolean>,
): Promise<bigint> {
  const ends = performance.now() + LOOKING_MS
  let [low, high, step] = [tooLittle, enough, tooLittle / TOLERANCE]
  while (high - low > high / TOLERANCE && performance.now() < ends) {
    const middle = least(low + step, (low + high) / 2n)
    if (await suffices(middle)) high = middle
    else low = middle
    step *= 2n
  }
  return high
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

type Trial = Omit<Tried, 'result'>

function trialOf(ledger: Ledger, message: Message, { block }: Entry, tag: unknown): Trial {
  const around = tag === 'pending' ? ledger.next(block) : ledger.around(block)
  return { message, around, view: viewOf(ledger.state, block.number) }
}

function run({ calls }: Ledger, { view, message, around }: Trial): Promise<Result> {
  return calls.execute(view, message, around).catch((error: unknown) => {
    if (error instanceof TimeIsUp) throw new JsonRpcError(FAILED, 'execution aborted: it takes too long')
    throw error
  })
}

async function succeeded(ledger: Ledger, trial: Trial): Promise<Tried> {
  const result = await run(ledger, trial)
  if (result.failure === undefined) return { ...trial, result }
  if (!result.failure.reverted) throw new JsonRpcError(FAILED, `execution failed: ${result.failure.reason}`)
  const reason = revertReason(result.returned)
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
  throw new JsonRpcError(REVERTED, message, data(result.returned))
}

/** Throws a MalformedError. */
function messageOf(call: unknown): Message {
  if (!isObject(call)) return malformed('the call is no object')
  const [from, to, gas, value] = ['from', 'to', 'gas', 'value'].map((name) => own(call, name) ?? undefined)
  const input = own(call, 'input') ?? own(call, 'data') ?? '0x'
  const gasLimit = gas === undefined ? BLOCK_GAS : BigInt(readNumber(gas))
  return {
    from: from === undefined ? NOBODY : addressText(from),
    to: to === undefined ? undefined : addressText(to),
    value: value === undefined ? 0n : readQuantity(value),
    input: readData(input),
    gasLimit: gasLimit < BLOCK_GAS ? gasLimit : BLOCK_GAS,
  }
}
