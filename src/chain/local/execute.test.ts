import { createAddressFromString } from '@ethereumjs/util'
import { expect, it } from 'vitest'
import { createMachine, createMachines, type Message } from './execute.ts'
import { emptyState, viewOf } from './state.ts'
import { TimeIsUp } from './turns.ts'

const CONTRACT = `0x${'11'.repeat(20)}`
/** Counts down from its input, and looks at the clock each time. */
const COUNTDOWN = '5f355b600190038060025700'
const AROUND = { number: 1, time: 1, parent: `0x${'00'.repeat(32)}`, hashOf: () => undefined }
const LIMIT_MS = 50

/** A clock that goes on by a hundredth of a millisecond with each look: time is counted in looks, and no machine is too slow for it. */
function lookClock() {
  let ms = 0
  return {
    nowMs: () => {
      ms += 0.01
      return ms
    },
    goOn: (byMs: number): void => {
      ms += byMs
    },
  }
}

function message(count: number): Message {
  const input = Buffer.from(count.toString(16).padStart(64, '0'), 'hex')
  return { from: `0x${'22'.repeat(20)}`, to: CONTRACT, value: 0n, input, gasLimit: 30_000_000n }
}

it('the time of a call is its own: what runs the same code later, or beside it, has all of it', async () => {
  const state = emptyState()
  const made = viewOf(state, 0)
  await made.manager.putCode(createAddressFromString(CONTRACT), Buffer.from(COUNTDOWN, 'hex'))
  made.keep(0)
  const { nowMs, goOn } = lookClock()
  const [calls, machine] = [createMachines(1n, LIMIT_MS, nowMs), await createMachine(1n, nowMs)]
  const ran = (by: typeof calls, count: number) => by.execute(viewOf(state, 0), message(count), AROUND)
  expect((await ran(calls, 1)).failure).toBeUndefined()
  goOn(LIMIT_MS + 10)
  // Longer than a turn, and shorter than the limit.
  expect((await ran(machine, 3000)).failure).toBeUndefined()
  expect((await ran(calls, 3000)).failure).toBeUndefined()
  goOn(LIMIT_MS + 10)
  const [long, short] = await Promise.allSettled([ran(calls, 7000), ran(machine, 3000)])
  expect(long).toMatchObject({ status: 'rejected', reason: expect.any(TimeIsUp) as unknown })
  expect(short).toMatchObject({ status: 'fulfilled', value: { failure: undefined } })
  // Together they take longer than one may.
  const begun = nowMs()
  const together = await Promise.all(Array.from({ length: 40 }, () => ran(calls, 3000)))
  expect(together.map(({ failure }) => failure)).toEqual(Array(40).fill(undefined))
  expect(nowMs() - begun).toBeGreaterThan(LIMIT_MS)
  // The machine that was interrupted goes on with another call.
  expect((await ran(calls, 3000)).failure).toBeUndefined()
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
