import { expect, it } from 'vitest'
import { FIRST_PACE, isPausing, paceAfterFailure, paceAfterSuccess, retryDelayMs } from './pace.ts'

const at = (ms: number) => new Date(ms)
const noPause = (bytes: number) => new Uint8Array(bytes)
const whole = (bytes: number) => new Uint8Array(bytes).fill(255)

it('pauses once three sessions have failed, for longer and longer, and sends one event at a time then', () => {
  let pace = FIRST_PACE
  const paces = Array.from({ length: 8 }, (_, n) => {
    pace = paceAfterFailure(pace, `s${n}`, at(1_000_000))
    return [pace.atOnce, pace.notBefore && pace.notBefore - 1_000_000]
  })
  const pauses = [500, 1000, 2000, 4000, 5000, 5000]
  expect(paces).toEqual([[4, 0], [4, 0], ...pauses.map((pause) => [1, pause])])
})

it('counts a session that fails again and again once', () => {
  const pace = ['s1', 's2', 's1', 's2', 's1'].reduce((each, id) => paceAfterFailure(each, id, at(0)), FIRST_PACE)
  expect(pace).toEqual({ ...FIRST_PACE, failing: ['s1', 's2'] })
})

it('sends twice as many at once after each success, sixteen at most, and forgets the failures', () => {
  const failed = ['s1', 's2', 's3'].reduce((each, id) => paceAfterFailure(each, id, at(0)), FIRST_PACE)
  const first = paceAfterSuccess(failed)
  expect(first).toEqual({ atOnce: 2, notBefore: 0, failing: [] })
  let pace = first
  for (let successes = 0; successes < 10; successes += 1) pace = paceAfterSuccess(pace)
  expect(pace.atOnce).toBe(16)
})

it('pauses until the very time, and for no pause that is longer than any', () => {
  const pace = { ...FIRST_PACE, notBefore: 10_000 }
  expect([4999, 5000, 9999, 10_000].map((time) => isPausing(pace, at(time)))).toEqual([false, true, true, false])
})

it('waits half of the backoff at least, the whole at most, and as long as the receiver says, an hour at most', () => {
  expect([1, 2, 20].map((failures) => retryDelayMs(failures, 0, noPause))).toEqual([2500, 5000, 1_800_000])
  expect([1, 2, 20].map((failures) => retryDelayMs(failures, 0, whole))).toEqual([5000, 10_000, 3_599_973])
  expect([3000, 7_200_000].map((ms) => retryDelayMs(1, ms, noPause))).toEqual([3000, 3_600_000])
})
