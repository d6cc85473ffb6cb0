import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { endOrLate } from './end-or-late.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('work that ends in time has ended, and no timer stays', async () => {
  expect(await endOrLate(Promise.resolve('done'), 1000)).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

it('the error of work that fails in time is the caller’s, and no timer stays', async () => {
  await expect(endOrLate(Promise.reject(new Error('no')), 1000)).rejects.toThrow('no')
  expect(vi.getTimerCount()).toBe(0)
})

it('work that goes on is late when its time is over, and no moment before', async () => {
  const results: boolean[] = []
  const waited = endOrLate(new Promise(() => undefined), 1000).then((hasEnded) => results.push(hasEnded))
  await vi.advanceTimersByTimeAsync(999)
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
  const late = endOrLate(work, 1000)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await late).toBe(false)
  fail(new Error('too late'))
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})
