/** Calls of a local chain that change nothing: `eth_call`, and how much gas a transaction would take. */
import { isObject, own } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { revertReason } from '../evm/revert.ts'
import { data, readData, readNumber, readQuantity } from '../evm/values.ts'
import { JsonRpcError } from '../json-rpc.ts'
import { BLOCK_GAS, type Machine, type Message } from './execute.ts'
import type { Ledger, Tried } from './ledger.ts'
import { addressText, entryAt } from './params.ts'
import { viewOf } from './state.ts'
import { tellsGas } from './tells-gas.ts'

const REVERTED = 3
const FAILED = -32000
const NOBODY = `0x${'00'.repeat(20)}`

/** What the contract returns. Rejects with a JsonRpcError when it refuses. */
export async function called(ledger: Ledger, call: unknown, tag: unknown): Promise<Uint8Array> {
  const { result } = await succeeded(trialOf(ledger, messageOf(call), tag), ledger.calls)
  return result.returned
}

/** What SSTORE must find, whatever it takes (EIP-2200). */
const SSTORE_SENTRY = 2300n

/** Enough gas, and not much more than enough: a call may pass on 63 of 64 parts only (EIP-150), and is paid back at its end. */
export async function estimated(ledger: Ledger, call: unknown, tag: unknown): Promise<bigint> {
  const message = messageOf(call)
  const tried = await succeeded(trialOf(ledger, message, tag), ledger.machine)
  const { gasTaken } = tried.result
  const code = message.to === undefined ? message.input : codeAt(ledger, message.to, tag)
  if (code.length === 0) return gasTaken
  if (!tellsGas(code)) {
    const enough = least(gasTaken + SSTORE_SENTRY, message.gasLimit)
    ledger.remember(tried, enough)
    return enough
  }
  for (let gasLimit = gasTaken; gasLimit < message.gasLimit; gasLimit += gasLimit / 32n + 1n) {
    const { view, around } = trialOf(ledger, message, tag)
    const { failure } = await ledger.machine.execute(view, { ...message, gasLimit }, around)
    if (failure === undefined) return gasLimit
  }
  return message.gasLimit
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

const NO_CODE = new Uint8Array()

function codeAt(ledger: Ledger, address: string, tag: unknown): Uint8Array {
  return ledger.state.code.at(address, entryAt(ledger, tag).block.number) ?? NO_CODE
}

type Trial = Omit<Tried, 'result'>

function trialOf(ledger: Ledger, message: Message, tag: unknown): Trial {
  const { block } = entryAt(ledger, tag)
  const around = tag === 'pending' ? ledger.next(block) : ledger.around(block)
  return { message, around, view: viewOf(ledger.state, block.number) }
}

async function succeeded(trial: Trial, machine: Machine): Promise<Tried> {
  const result = await machine.execute(trial.view, trial.message, trial.around)
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
