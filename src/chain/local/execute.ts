/** Runs calls and transactions of a local chain in the virtual machine of Ethereum, with the rules of Cancun. */
import { Common, Hardfork, Mainnet, type StateManagerInterface } from '@ethereumjs/common'
import { createEVM, type EVM } from '@ethereumjs/evm'
import { Address } from '@ethereumjs/util'
import { rememberJumps } from './jumps.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { emptyState, type View, viewOf } from './state.ts'
import { createTurns, pausing } from './turns.ts'

export const BLOCK_GAS = 30_000_000n

/** The block that it runs in. */
export interface Surroundings {
  readonly number: number
  readonly time: number
  /** Of the block before it. */
  readonly parent: string
  /** The hash of an earlier block. */
  readonly hashOf: (number: number) => string | undefined
}

export interface Message {
  /** 20 bytes in hexadecimal, after `0x`. */
  readonly from: string
  /** Undefined creates a contract. */
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
  /** What it would have needed without what it was given back. */
  readonly gasTaken: bigint
  /** Undefined when it ended well. `reverted`: the contract itself refused. */
  readonly failure: { readonly reason: string; readonly reverted: boolean } | undefined
  readonly returned: Uint8Array
  readonly created: string | undefined
  readonly logs: readonly Log[]
}

/** Virtual machines, of which each runs one thing after the other; what takes long lets the others have their turn. */
export interface Machine {
  /**
   * Changes the view. The sender's nonce goes up, as it does in a block. Rejects with a {@link TimeIsUp} where this machine gives no more
   * than some time.
   */
  execute(view: View, message: Message, around: Surroundings): Promise<Result>
}

/** For what changes the chain: one thing after the other. It takes as long as it takes, as it comes out the same for everybody. */
export async function createMachine(chainId: bigint, nowMs = millisecondsNow): Promise<Machine> {
  const machine = await createVirtualMachine(chainId, { mostMs: Number.POSITIVE_INFINITY, nowMs })
  const inTurn = oneAtATime()
  return { execute: (...asked) => inTurn(() => machine.execute(...asked)) }
}

const millisecondsNow = (): number => performance.now()

interface TimeLimit {
  readonly mostMs: number
  readonly nowMs: () => number
}

/** More than an engine asks in one look, so that those that take long leave room for others. Each may use 100 MB of memory. */
const MOST_AT_ONCE = 48

/** For what only looks at it: what is asked at the same time runs at the same time, each for so many milliseconds at most. */
export function createMachines(chainId: bigint, mostMs: number, nowMs = millisecondsNow): Machine {
  const idle: Machine[] = []
  const waiting: ((machine: Machine) => void)[] = []
  let made = 0
  const take = (): Machine | Promise<Machine> => {
    const machine = idle.pop()
    if (machine !== undefined) return machine
    if (made === MOST_AT_ONCE) return new Promise((resolve) => waiting.push(resolve))
    made += 1
    return createVirtualMachine(chainId, { mostMs, nowMs })
  }
  return {
    execute: async (...asked) => {
      const machine = await take()
      try {
        return await machine.execute(...asked)
      } finally {
        const next = waiting.shift()
        if (next === undefined) idle.push(machine)
        else next(machine)
      }
    },
  }
}

/** It is kept, as to make one takes longer than most calls. It runs one thing at a time, and its caller sees to that. */
async function createVirtualMachine(chainId: bigint, { mostMs, nowMs }: TimeLimit): Promise<Machine> {
  const running: { view: View; around?: Surroundings } = { view: viewOf(emptyState(), 0) }
  const turns = createTurns(nowMs)
  const common = await rulesOf(chainId)
  // Stands for that of the view which is run on.
  const stateManager = new Proxy({} as StateManagerInterface, {
    get: (_, name) => Reflect.get(running.view.manager, name) as unknown,
  })
  const evm = await createEVM({
    ...pausing(common, stateManager, turns),
    common,
    blockchain: {
      getBlock: (number) => Promise.resolve({ hash: () => bytesOf(running.around?.hashOf(number) ?? NO_HASH) }),
      putBlock: () => Promise.resolve(),
      shallowCopy: () => {
        throw new Error('a local chain has no copies')
      },
    },
  })
  await rememberJumps(evm)
  return {
    execute: async (view, message, around) => {
      await turns.begin(mostMs)
      Object.assign(running, { view, around })
      evm.journal.cleanJournal()
      evm.transientStorage.clear()
      return run(evm, view, { message, around })
    },
  }
}

/** The machine asks for them with each instruction, and they never change. */
class Rules extends Common {
  readonly #asked = new Map<number, boolean>()

  override isActivatedEIP(eip: number): boolean {
    const known = this.#asked.get(eip)
    if (known !== undefined) return known
    const isActivated = super.isActivatedEIP(eip)
    this.#asked.set(eip, isActivated)
    return isActivated
  }
}

/** They know what instructions cost once a machine was made of them. */
async function rulesOf(chainId: bigint): Promise<Common> {
  const common = new Rules({ chain: { ...Mainnet, chainId: Number(chainId) }, hardfork: Hardfork.Cancun })
  await createEVM({ common })
  return common
}

const NO_HASH = `0x${'00'.repeat(32)}`

async function run(
  evm: EVM,
  view: View,
  { message, around }: { readonly message: Message; readonly around: Surroundings },
): Promise<Result> {
  const base = intrinsicGas(message)
  if (base > message.gasLimit) return outOfGas(message.gasLimit)
  const from = addressOf(message.from)
  const { execResult, createdAddress } = await evm.runCall({
    caller: from,
    origin: from,
    ...(message.to === undefined ? {} : { to: addressOf(message.to) }),
    value: message.value,
    // Nobody needs money here: who sends some gets it first.
    skipBalance: true,
    data: message.input,
    gasLimit: message.gasLimit - base,
    gasPrice: 0n,
    block: { header: headerOf(around) },
  })
  for (const gone of execResult.selfdestruct?.keys() ?? []) await view.manager.deleteAccount(addressOf(gone))
  const gasTaken = base + execResult.executionGasUsed
  const refund = execResult.gasRefund ?? 0n
  const { exceptionError } = execResult
  return {
    gasTaken,
    gasUsed: gasTaken - (refund < gasTaken / 5n ? refund : gasTaken / 5n),
    failure: exceptionError && { reason: exceptionError.error, reverted: exceptionError.error === 'revert' },
    returned: execResult.returnValue,
    created: exceptionError === undefined ? createdAddress?.toString() : undefined,
    logs: (execResult.logs ?? []).map(([address, topics, data]) => ({
      address: shown(address),
      topics: topics.map(shown),
      data: shown(data),
    })),
  }
}

/** Ethereum Yellow Paper, section 6.2, with EIP-2028 and EIP-3860. */
function intrinsicGas({ input, to }: Message): bigint {
  let gas = 21_000n
  for (const byte of input) gas += byte === 0 ? 4n : 16n
  return to === undefined ? gas + 32_000n + 2n * BigInt(Math.ceil(input.length / 32)) : gas
}

function outOfGas(gasLimit: bigint): Result {
  const failure = { reason: 'intrinsic gas too low', reverted: false }
  return { gasUsed: gasLimit, gasTaken: gasLimit, failure, returned: new Uint8Array(), created: undefined, logs: [] }
}

function headerOf({ number, time, parent }: Surroundings) {
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

function shown(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function addressOf(text: string): Address {
  return new Address(bytesOf(text))
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}
