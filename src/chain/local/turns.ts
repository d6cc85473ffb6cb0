/**
 * Turns: an execution never waits for anything by itself, and so a long one would hold up all others of its thread. Where it may come
 * by again and again, and before what takes long, it looks at the clock, and lets others go on when its turn is over.
 */
import { setImmediate } from 'node:timers/promises'
import type { Common, StateManagerInterface } from '@ethereumjs/common'
import { type EVMOpts, getActivePrecompiles, getOpcodesForHF } from '@ethereumjs/evm'
import { createAddressFromString } from '@ethereumjs/util'

const TURN_MS = 1

/** JUMPDEST, which every loop has; KECCAK256; CREATE, CALL, CALLCODE, DELEGATECALL, CREATE2, STATICCALL. */
const PLACES = [0x5b, 0x20, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa]

/** No precompiled contract has more, as nothing can interrupt it: with all the gas of a block one of them takes ten seconds. */
const PRECOMPILED_GAS = 2_000_000n

/** An execution took all the time that it was given. */
export class TimeIsUp extends Error {}

export interface Turns {
  /** Waits for its turn, and gives it so many milliseconds of its own: the turns of others do not count. */
  begin(mostMs: number): Promise<void>
  /** Undefined while the turn lasts; otherwise waits for the next. Throws {@link TimeIsUp}. */
  pause(): Promise<void> | undefined
}

/** `nowMs` tells milliseconds that never go back. */
export function createTurns(nowMs: () => number): Turns {
  let began = 0
  let leftMs = 0
  const wait = async (): Promise<void> => {
    await setImmediate()
    began = nowMs()
  }
  return {
    begin: (mostMs) => {
      leftMs = mostMs
      return wait()
    },
    pause: () => {
      const taken = nowMs() - began
      if (taken < TURN_MS) return undefined
      leftMs -= taken
      if (leftMs < 0) throw new TimeIsUp()
      return wait()
    },
  }
}

/** By the state manager of a virtual machine. What runs an instruction is remembered with the code, for all of them (`jumps.ts`). */
const turnsOf = new WeakMap<StateManagerInterface, Turns>()

/** What makes a virtual machine pause. */
export function pausing(
  common: Common,
  stateManager: StateManagerInterface,
  turns: Turns,
): Pick<EVMOpts, 'customOpcodes' | 'customPrecompiles' | 'stateManager'> {
  turnsOf.set(stateManager, turns)
  const { opcodes, handlers, dynamicGasHandlers } = getOpcodesForHF(common)
  return {
    stateManager,
    customOpcodes: PLACES.map((opcode) => {
      const [{ name, fee }, handle] = [found(opcodes.get(opcode)), found(handlers.get(opcode))]
      const gasFunction = dynamicGasHandlers.get(opcode)
      return {
        ...{ opcode, opcodeName: name, baseFee: fee },
        ...(gasFunction === undefined ? {} : { gasFunction }),
        logicFunction: async (state, rules) => {
          await turnsOf.get(state.stateManager)?.pause()
          return handle(state, rules)
        },
      }
    }),
    customPrecompiles: [...getActivePrecompiles(common)].map(([address, run]) => ({
      address: createAddressFromString(`0x${address}`),
      function: (input) =>
        run({ ...input, gasLimit: input.gasLimit < PRECOMPILED_GAS ? input.gasLimit : PRECOMPILED_GAS }),
    })),
  }
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the virtual machine has not all instructions of its rules')
  return value
}
