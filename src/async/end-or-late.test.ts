import { beforeEach, expect, it, vi } from 'vitest'
import { fakeTimersOf } from '../../test/support/fake-timers.ts'
import { endOrLate } from './end-or-late.ts'

const TIME_MS = 1013

let countTimers: () => number
beforeEach(() => {
  countTimers = fakeTimersOf(TIME_MS)
})

it('work that ends in time has ended, and no timer stays', async () => {
  expect(await endOrLate(Promise.resolve('done'), TIME_MS)).toBe(true)
  expect(countTimers()).toBe(0)
})

it('the error of work that fails in time is the caller’s, and no timer stays', async () => {
  await expect(endOrLate(Promise.reject(new Error('no')), TIME_MS)).rejects.toThrow('no')
  expect(countTimers()).toBe(0)
})

it('work that goes on is late when its time is over, and no moment before', async () => {
  const results: boolean[] = []
  const waited = endOrLate(new Promise(() => undefined), TIME_MS).then((hasEnded) => results.push(hasEnded))
  await vi.advanceTimersByTimeAsync(TIME_MS - 1)
  expect(results).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  await waited
  expect(results).toEqual([false])
})

it('the error of work that fails after its time reaches nobody', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  let fail: (error: Error) => void = () => undefined
  const work = new Promise((_, reject) => {
    fail = reject
  })
  const late = endOrLate(work, TIME_MS)
  await vi.advanceTimersByTimeAsync(TIME_MS)
  expect(await late).toBe(false)
  fail(new Error('too late'))
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})
