import { createAddressFromString } from '@ethereumjs/util'
import { expect, it } from 'vitest'
import type { StartTimer } from '../../async/timer.ts'
import { createMachine, intrinsicGas, type Message, type Result, TimeLimitError } from './execute.ts'
import { createState, createWorkingState } from './state.ts'

const CONTRACT = `0x${'11'.repeat(20)}`
/** Counts down from its input, and passes a JUMPDEST each time. */
const COUNTDOWN = '5f355b600190038060025700'
const AROUND = { number: 1, time: 1, parent: `0x${'00'.repeat(32)}`, hashOf: () => undefined }
const LOOKS = 5000

/** A timer of so many looks: no machine is too slow for it. */
const startCounter: StartTimer = (looks) => () => looks-- <= 0

function message(count: number): Message {
  const input = Buffer.from(count.toString(16).padStart(64, '0'), 'hex')
  return { from: `0x${'22'.repeat(20)}`, to: CONTRACT, value: 0n, input, gasLimit: 30_000_000n }
}

/** Makes a machine on a state that has the contract. */
async function countdown(): Promise<(count: number, looks?: number) => Promise<Result>> {
  const state = createState()
  const { manager, begin } = createWorkingState(state)
  const changes = begin(0)
  await manager.putCode(createAddressFromString(CONTRACT), Buffer.from(COUNTDOWN, 'hex'))
  changes.apply(0)
  const machine = await createMachine(1n, state, startCounter)
  return (count, looks) => machine.execute(0, message(count), AROUND, looks)
}

it('a message that takes longer than it may is ended, and the next has all of its time', async () => {
  const run = await countdown()
  expect((await run(3000, LOOKS)).failure).toBeUndefined()
  await expect(run(7000, LOOKS)).rejects.toThrow(TimeLimitError)
  expect((await run(3000, LOOKS)).failure).toBeUndefined()
  expect((await run(7000)).failure).toBeUndefined()
})

it('messages that wait for each other have each their own time', async () => {
  const run = await countdown()
  const results = await Promise.all(Array.from({ length: 10 }, () => run(3000, LOOKS)))
  expect(results.map(({ failure }) => failure)).toEqual(Array(10).fill(undefined))
})

/** Makes a machine on a state with this code in the contract, and runs messages to it whose changes stay. */
async function running(code: string): Promise<(changes?: Partial<Message>, looks?: number) => Promise<Result>> {
  const state = createState()
  const { manager, begin } = createWorkingState(state)
  const changes = begin(0)
  await manager.putCode(createAddressFromString(CONTRACT), Buffer.from(code, 'hex'))
  changes.apply(0)
  const machine = await createMachine(1n, state, startCounter)
  let block = 0
  return async (parts, looks) => {
    const execution = await machine.execute(block, { ...message(0), input: new Uint8Array(), ...parts }, AROUND, looks)
    execution.apply(++block)
    return execution
  }
}

it('a message without loops is ended at one of its calls', async () => {
  // Calls itself with all of its gas.
  const run = await running('5f5f5f5f5f305af1')
  await expect(run({}, 5)).rejects.toThrow(TimeLimitError)
  expect((await run()).failure).toBeUndefined()
})

it.each([
  ['one slot, whole', '5f355f5500', () => 4800n],
  ['two slots, a fifth of the gas at most', '5f35805f5560015500', (gasTaken: bigint) => gasTaken / 5n],
])('freed storage is paid back, of %s', async (_, code, expected) => {
  const run = await running(code)
  await run({ input: Uint8Array.of(1) })
  const { gasTaken, gasUsed } = await run()
  expect(gasTaken - gasUsed).toBe(expected(gasTaken))
})

it('a precompiled contract is given two million gas at most', async () => {
  const run = await running('')
  const rounds = async (count: number) => {
    const input = Buffer.alloc(213)
    input.writeUInt32BE(count)
    return (await run({ to: `0x${'00'.repeat(19)}09`, input })).failure
  }
  expect(await rounds(10)).toBeUndefined()
  expect(await rounds(2_000_001)).toMatchObject({ reason: 'out of gas' })
})

it.each([
  [[0, 0, 1], CONTRACT, 21_024n],
  [Array<number>(33).fill(0), undefined, 53_136n],
])('a message costs before it runs: %j to %s', (input, to, gas) => {
  expect(intrinsicGas({ input: Uint8Array.from(input), to })).toBe(gas)
})

it('a call that is reverted leaves what was stored before it, however often it stored', async () => {
  // Stores 5, calls itself with input, and returns what is stored; with input stores 6 and 7, and reverts.
  const run = await running('36601a5760055f555f5f60015f5f305af1505f545f5260205ff35b60065f5560075f555f5ffd')
  const { output } = await run()
  expect(BigInt(`0x${Buffer.from(output).toString('hex')}`)).toBe(5n)
})
