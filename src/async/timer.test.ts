import { beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeTimersOf } from '../../test/support/fake-timers.ts'
import { endsWithin, startTimer } from './timer.ts'

const MS = 50

it('a timer is over when its processor time is', () => {
  const isOver = startTimer(MS)
  const before = process.cpuUsage()
  while (!isOver());
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeGreaterThan(MS * 0.9)
})

it('a timer is not over while its process waits, however long that is', () => {
  const isOver = startTimer(4 * MS)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8 * MS)
  expect(isOver()).toBe(false)
})

it('a timer without a limit is never over', () => {
  expect(startTimer(Number.POSITIVE_INFINITY)()).toBe(false)
})

describe('a limit on waiting', () => {
  const TIME_MS = 1013
  let countTimers: () => number
  beforeEach(() => {
    countTimers = fakeTimersOf(TIME_MS)
  })

  it('work that ends in time has ended, and no timer stays', async () => {
    expect(await endsWithin(Promise.resolve('done'), TIME_MS)).toBe(true)
    expect(countTimers()).toBe(0)
  })

  it('the error of work that fails in time is the caller’s, and no timer stays', async () => {
    await expect(endsWithin(Promise.reject(new Error('no')), TIME_MS)).rejects.toThrow('no')
    expect(countTimers()).toBe(0)
  })

  it('work that goes on is late when its time is over, and no moment before', async () => {
    const results: boolean[] = []
    const waited = endsWithin(new Promise(() => undefined), TIME_MS).then((hasEnded) => results.push(hasEnded))
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
    const late = endsWithin(work, TIME_MS)
    await vi.advanceTimersByTimeAsync(TIME_MS)
    expect(await late).toBe(false)
    fail(new Error('too late'))
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})
