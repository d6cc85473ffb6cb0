/**
 * Runs the calls and transactions of a local chain in the Ethereum Virtual Machine, with the rules of the Cancun hard
 * fork.
 */
import { Common, Hardfork, Mainnet, type StateManagerInterface } from '@ethereumjs/common'
import { createEVM, type EVM, getActivePrecompiles } from '@ethereumjs/evm'
import { Address, createAddressFromString } from '@ethereumjs/util'
import { serialQueue } from '../../async/concurrency.ts'
import { type StartTimer, startTimer } from '../../async/timer.ts'
import { minimum } from '../evm/values.ts'
import { type Changes, createWorkingState, type State, type WorkingState } from './state.ts'

export const BLOCK_GAS = 30_000_000n

/** The block in which a message runs. */
export interface BlockEnvironment {
  readonly number: number
  readonly time: number
  /** The hash of the previous block. */
  readonly parent: string
  /** Returns the hash of an earlier block. */
  readonly hashOf: (number: number) => string | undefined
}

export interface Message {
  /** The address of the sender: 20 bytes in hexadecimal, after `0x`. */
  readonly from: string
  /** The address of the recipient; undefined in a message that creates a contract. */
  readonly to: string | undefined
  readonly value: bigint
  readonly input: Uint8Array
  readonly gasLimit: bigint
}

export interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

export interface Result {
  readonly gasUsed: bigint
  /** The gas used before refunds. */
  readonly gasTaken: bigint
  /** The failure of the execution; undefined when it succeeded. `reverted`: the contract itself reverted. */
  readonly failure: { readonly reason: string; readonly reverted: boolean } | undefined
  readonly output: Uint8Array
  readonly created: string | undefined
  readonly logs: readonly Log[]
}

/** The error for an execution that exceeded its time limit. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/** A virtual machine. It runs one message at a time; further calls wait. */
export interface Machine {
  /**
   * Runs a message on the state after `block`, and increments the nonce of the sender, but not with less gas than
   * {@link intrinsicGas}, which blocks of earlier versions may have. Rejects with a {@link TimeLimitError} when the
   * message takes longer than `mostMs`. A message in a block must not have a time limit, because it must have the same
   * result in every process.
   */
  execute(block: number, message: Message, environment: BlockEnvironment, mostMs?: number): Promise<Execution>
}

/** The result of a message, and its changes, which the caller may apply to the state. */
export type Execution = Result & Changes

interface RunningExecution {
  readonly environment: BlockEnvironment
  readonly isOver: () => boolean
}

/** Makes the virtual machine of a chain on its state. */
export async function createMachine(chainId: bigint, state: State, start: StartTimer = startTimer): Promise<Machine> {
  let runningExecution: RunningExecution | undefined
  const currentState = createWorkingState(state)
  const hashOf = (number: number): string => runningExecution?.environment.hashOf(number) ?? NO_HASH
  const checkTime = (): void => {
    if (runningExecution?.isOver() === true) throw new TimeLimitError()
  }
  const evm = await createVirtualMachine({ chainId, manager: currentState.manager, hashOf, checkTime })
  const runInOrder = serialQueue()
  return {
    execute: (block, message, environment, mostMs = Number.POSITIVE_INFINITY) =>
      runInOrder(async () => {
        const changes = currentState.begin(block)
        runningExecution = { environment, isOver: start(mostMs) }
        evm.journal.cleanJournal()
        evm.transientStorage.clear()
        return { ...(await runMessage(evm, currentState, message, environment)), ...changes }
      }),
  }
}

interface VirtualMachine {
  readonly chainId: bigint
  readonly manager: StateManagerInterface
  readonly hashOf: (number: number) => string
  /** Called often during an execution. An exception that it throws ends the execution. */
  readonly checkTime: () => void
}

const JUMPDEST = 0x5b
/**
 * The most gas of a precompiled contract, which cannot be interrupted: with all the gas of a block, one of them takes
 * ten seconds.
 */
const PRECOMPILED_GAS = 2_000_000n

/** Makes a virtual machine that calls `checkTime` at each JUMPDEST, which every loop has, and at each call. */
async function createVirtualMachine({ chainId, manager, hashOf, checkTime }: VirtualMachine): Promise<EVM> {
  const common = new Common({ chain: { ...Mainnet, chainId: Number(chainId) }, hardfork: Hardfork.Cancun })
  const evm = await createEVM({
    common,
    stateManager: manager,
    customOpcodes: [{ opcode: JUMPDEST, opcodeName: 'JUMPDEST', baseFee: 1, logicFunction: checkTime }],
    customPrecompiles: [...getActivePrecompiles(common)].map(([address, run]) => ({
      address: createAddressFromString(`0x${address}`),
      function: (input) => run({ ...input, gasLimit: minimum(input.gasLimit, PRECOMPILED_GAS) }),
    })),
    blockchain: {
      getBlock: (number) => Promise.resolve({ hash: () => bytesOf(hashOf(number)) }),
      putBlock: () => Promise.resolve(),
      shallowCopy: () => {
        throw new Error('a local chain has no copies')
      },
    },
  })
  evm.events.on('beforeMessage', checkTime)
  return evm
}

const NO_HASH = `0x${'00'.repeat(32)}`

async function runMessage(
  evm: EVM,
  { manager }: WorkingState,
  message: Message,
  environment: BlockEnvironment,
): Promise<Result> {
  const gasBefore = intrinsicGas(message)
  if (gasBefore > message.gasLimit) return outOfGasResult(message.gasLimit)
  const from = addressOf(message.from)
  const { execResult, createdAddress } = await evm.runCall({
    caller: from,
    origin: from,
    ...(message.to === undefined ? {} : { to: addressOf(message.to) }),
    value: message.value,
    // Accounts need no balance on a local chain: the sender is first credited with the value.
    skipBalance: true,
    data: message.input,
    gasLimit: message.gasLimit - gasBefore,
    gasPrice: 0n,
    block: { header: headerOf(environment) },
  })
  for (const destroyedAddress of execResult.selfdestruct?.keys() ?? [])
    await manager.deleteAccount(addressOf(destroyedAddress))
  const gasTaken = gasBefore + execResult.executionGasUsed
  const refund = execResult.gasRefund ?? 0n
  const { exceptionError } = execResult
  return {
    gasTaken,
    gasUsed: gasTaken - minimum(refund, gasTaken / 5n),
    failure: exceptionError && { reason: exceptionError.error, reverted: exceptionError.error === 'revert' },
    output: execResult.returnValue,
    created: exceptionError === undefined ? createdAddress?.toString() : undefined,
    logs: (execResult.logs ?? []).map(([address, topics, data]) => ({
      address: toHex(address),
      topics: topics.map(toHex),
      data: toHex(data),
    })),
  }
}

/**
 * Returns the intrinsic gas of a message, which it costs before it is executed. Ethereum Yellow Paper, section 6.2,
 * with EIP-2028 and EIP-3860.
 */
export function intrinsicGas({ input, to }: Pick<Message, 'input' | 'to'>): bigint {
  let gas = 21_000n
  for (const byte of input) gas += byte === 0 ? 4n : 16n
  return to === undefined ? gas + 32_000n + 2n * BigInt(Math.ceil(input.length / 32)) : gas
}

function outOfGasResult(gasLimit: bigint): Result {
  const failure = { reason: 'intrinsic gas too low', reverted: false }
  return { gasUsed: gasLimit, gasTaken: gasLimit, failure, output: new Uint8Array(), created: undefined, logs: [] }
}

function headerOf({ number, time, parent }: BlockEnvironment) {
  return {
    number: BigInt(number),
    coinbase: addressOf(`0x${'00'.repeat(20)}`),
    timestamp: BigInt(time),
    difficulty: 0n,
    prevRandao: bytesOf(parent),
    gasLimit: BLOCK_GAS,
    baseFeePerGas: 0n,
    getBlobGasPrice: () => 1n,
  }
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function addressOf(text: string): Address {
  return new Address(bytesOf(text))
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}
