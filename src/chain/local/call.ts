/** Calls on a local chain that change nothing: `eth_call` and `eth_estimateGas`. */
import { startTimer } from '../../async/timer.ts'
import { isObject, memberOf } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { revertReason } from '../evm/revert.ts'
import { minimum, readData, readNumber, readQuantity, writeData } from '../evm/values.ts'
import { JsonRpcError, REVERTED } from '../json-rpc.ts'
import { BLOCK_GAS, type BlockEnvironment, type Message, type Result, TimeLimitError } from './execute.ts'
import type { Ledger, LedgerEntry } from './ledger.ts'
import { readAddressText, requireEntry } from './params.ts'

const EXECUTION_FAILED = -32000
const NOBODY = `0x${'00'.repeat(20)}`
/** The time limit of a call; a harmless one that uses all the gas of a block takes about one second of CPU time. */
const CALL_MS = 2000

/**
 * Runs `eth_call`, and returns the output of the contract. Rejects with a JsonRpcError when the contract reverts or
 * fails, or takes too long.
 */
export async function callContract(ledger: Ledger, call: unknown, tag: unknown): Promise<Uint8Array> {
  const { output } = await runOrRefuse(ledger, createTrial(ledger, readMessage(call), requireEntry(ledger, tag), tag))
  return output
}

/** The gas that must be left at an SSTORE instruction (EIP-2200). */
const SSTORE_SENTRY = 2300n
/** The precision of an estimate: it may exceed the need by one part in this number. */
const TOLERANCE = 32n
/** The time after which the search for the least gas ends with the best result so far. */
const SEARCH_MS = 2000

/**
 * Runs `eth_estimateGas`: returns gas that is enough, and not much more. Rejects as {@link callContract} does. First
 * runs the message with all the gas of a block. The gas that this took is not always enough, because a call passes on
 * only 63 of 64 parts of its gas (EIP-150), and SSTORE needs some left. A little more is mostly enough; otherwise the
 * least gas is searched.
 */
export async function estimateGas(ledger: Ledger, call: unknown, tag: unknown): Promise<bigint> {
  const message = readMessage(call)
  const entry = requireEntry(ledger, tag)
  const makeTrial = (gasLimit: bigint): Trial => createTrial(ledger, { ...message, gasLimit }, entry, tag)
  const { gasTaken } = await runOrRefuse(ledger, makeTrial(message.gasLimit))
  const code = message.to === undefined ? message.input : ledger.state.code.getAt(message.to, entry.block.number)
  if (code === undefined || code.length === 0) return gasTaken
  const likelyGas = minimum(((gasTaken + SSTORE_SENTRY) * 64n) / 63n, message.gasLimit)
  if (await isEnough(ledger, makeTrial(likelyGas))) return likelyGas
  return searchGas(likelyGas, message.gasLimit, (gasLimit) => isEnough(ledger, makeTrial(gasLimit)))
}

/** Tests whether the message succeeds with the gas of `trial`; false also when it takes too long. */
async function isEnough(ledger: Ledger, trial: Trial): Promise<boolean> {
  try {
    return (await runTrial(ledger, trial)).failure === undefined
  } catch (error) {
    if (error instanceof JsonRpcError) return false
    throw error
  }
}

/** Searches for the least gas that is enough, in growing steps up from `tooLittle`, near which it mostly is. */
async function searchGas(
  tooLittle: bigint,
  enough: bigint,
  isEnoughGas: (gas: bigint) => Promise<boolean>,
): Promise<bigint> {
  const isOver = startTimer(SEARCH_MS)
  let [low, high, step] = [tooLittle, enough, tooLittle / TOLERANCE]
  while (high - low > high / TOLERANCE && !isOver()) {
    const middle = minimum(low + step, (low + high) / 2n)
    if (await isEnoughGas(middle)) high = middle
    else low = middle
    step *= 2n
  }
  return high
}

/** A message to run on the state after a block, without changing the state. */
interface Trial {
  readonly message: Message
  readonly environment: BlockEnvironment
  readonly block: number
}

function createTrial(ledger: Ledger, message: Message, { block }: LedgerEntry, tag: unknown): Trial {
  const environment = tag === 'pending' ? ledger.makeNextEnvironment(block) : ledger.environmentOf(block)
  return { message, environment, block: block.number }
}

function runTrial({ machine }: Ledger, { message, environment, block }: Trial): Promise<Result> {
  return machine.execute(block, message, environment, CALL_MS).catch((error: unknown) => {
    if (error instanceof TimeLimitError)
      throw new JsonRpcError(EXECUTION_FAILED, 'execution aborted: it takes too long', undefined, { cause: error })
    throw error
  })
}

/** Runs a trial, and returns its result. Rejects with a JsonRpcError when it reverts or fails. */
async function runOrRefuse(ledger: Ledger, trial: Trial): Promise<Result> {
  const result = await runTrial(ledger, trial)
  if (result.failure === undefined) return result
  if (!result.failure.reverted) throw new JsonRpcError(EXECUTION_FAILED, `execution failed: ${result.failure.reason}`)
  const reason = revertReason(result.output)
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
  throw new JsonRpcError(REVERTED, message, writeData(result.output))
}

/** Reads the message of a call. Throws a MalformedError. */
function readMessage(call: unknown): Message {
  if (!isObject(call)) return malformed('the call is not an object')
  const [from, to, gas, value] = ['from', 'to', 'gas', 'value'].map((name) => memberOf(call, name) ?? undefined)
  const input = memberOf(call, 'input') ?? memberOf(call, 'data') ?? '0x'
  const gasLimit = gas === undefined ? BLOCK_GAS : BigInt(readNumber(gas))
  return {
    from: from === undefined ? NOBODY : readAddressText(from),
    to: to === undefined ? undefined : readAddressText(to),
    value: value === undefined ? 0n : readQuantity(value),
    input: readData(input),
    gasLimit: minimum(gasLimit, BLOCK_GAS),
  }
}
