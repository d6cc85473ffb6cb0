import { setTimeout as sleep } from 'node:timers/promises'
import { createAddressFromString } from '@ethereumjs/util'
import { expect, it } from 'vitest'
import { createMachine, createMachines, type Message } from './execute.ts'
import { emptyState, viewOf } from './state.ts'
import { TimeIsUp } from './turns.ts'

const CONTRACT = `0x${'11'.repeat(20)}`
/** Counts down from its input, which takes about a microsecond each time. */
const COUNTDOWN = '5f355b600190038060025700'
const AROUND = { number: 1, time: 1, parent: `0x${'00'.repeat(32)}`, hashOf: () => undefined }
const LIMIT_MS = 50

function message(count: number): Message {
  const input = Buffer.from(count.toString(16).padStart(64, '0'), 'hex')
  return { from: `0x${'22'.repeat(20)}`, to: CONTRACT, value: 0n, input, gasLimit: 30_000_000n }
}

it('the time of a call is its own: what runs the same code later, or beside it, has all of it', async () => {
  const state = emptyState()
  const made = viewOf(state, 0)
  await made.manager.putCode(createAddressFromString(CONTRACT), Buffer.from(COUNTDOWN, 'hex'))
  made.keep(0)
  const [calls, machine] = [createMachines(1n, LIMIT_MS), await createMachine(1n)]
  const ran = (by: typeof calls, count: number) => by.execute(viewOf(state, 0), message(count), AROUND)
  expect((await ran(calls, 1)).failure).toBeUndefined()
  await sleep(LIMIT_MS + 10)
  // Longer than a turn, and shorter than the limit.
  expect((await ran(machine, 5000)).failure).toBeUndefined()
  expect((await ran(calls, 5000)).failure).toBeUndefined()
  await sleep(LIMIT_MS + 10)
  const [long, short] = await Promise.allSettled([ran(calls, 700_000), ran(machine, 5000)])
  expect(long).toMatchObject({ status: 'rejected', reason: expect.any(TimeIsUp) as unknown })
  expect(short).toMatchObject({ status: 'fulfilled', value: { failure: undefined } })
  // Together they take longer than one may.
  const begun = performance.now()
  const together = await Promise.all(Array.from({ length: 40 }, () => ran(calls, 5000)))
  expect(together.map(({ failure }) => failure)).toEqual(Array(40).fill(undefined))
  expect(performance.now() - begun).toBeGreaterThan(LIMIT_MS)
  // The machine that was interrupted goes on with another call.
  expect((await ran(calls, 5000)).failure).toBeUndefined()
})

it('many calls at once are all answered', async () => {
  const state = emptyState()
  const made = viewOf(state, 0)
  await made.manager.putCode(createAddressFromString(CONTRACT), Buffer.from(COUNTDOWN, 'hex'))
  made.keep(0)
  const calls = createMachines(1n, 10_000)
  const all = Array.from({ length: 200 }, () => calls.execute(viewOf(state, 0), message(100), AROUND))
  expect(new Set((await Promise.all(all)).map(({ gasUsed }) => gasUsed)).size).toBe(1)
})
