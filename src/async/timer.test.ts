import { expect, it } from 'vitest'
import { startTimer } from './timer.ts'

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
