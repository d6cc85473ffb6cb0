import { createAddressFromString } from '@ethereumjs/util'
import { expect, it } from 'vitest'
import type { StartTimer } from '../../async/timer.ts'
import { createMachine, type Message, type Result, TimeLimitError } from './execute.ts'
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
