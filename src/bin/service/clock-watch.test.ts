import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { watchForClockJump } from './clock-watch.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let elapsedMs: number
let aheadMs: number
let lines: string[]
let isHeld: () => boolean

beforeEach(() => {
  elapsedMs = 0
  aheadMs = 0
  lines = []
  const clocks = { system: () => 1_800_000_000_000 + elapsedMs + aheadMs, monotonic: () => elapsedMs }
  isHeld = watchForClockJump(clocks, pino({}, { write: (line: string) => void lines.push(line) }))
})

describe('a clock', () => {
  it('that goes on, also for long, and that is set by hours, holds nothing', () => {
    elapsedMs += 40 * DAY_MS
    expect(isHeld()).toBe(false)
    aheadMs += 23 * HOUR_MS
    expect(isHeld()).toBe(false)
    aheadMs -= 40 * DAY_MS
    expect(isHeld()).toBe(false)
    expect(lines).toEqual([])
  })

  it('that jumps ahead by more than a day holds deletions for an hour, and is logged once', () => {
    aheadMs += 40 * DAY_MS
    expect([isHeld(), isHeld()]).toEqual([true, true])
    elapsedMs += HOUR_MS - 1
    expect(isHeld()).toBe(true)
    elapsedMs += 1
    expect([isHeld(), isHeld()]).toEqual([false, false])
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ event: 'clock_jumped', seconds: 40 * 86_400 }),
    ])
  })

  it('that is set right holds nothing any more, and its next jump is held anew', () => {
    aheadMs += 40 * DAY_MS
    expect(isHeld()).toBe(true)
    aheadMs = 0
    expect(isHeld()).toBe(false)
    elapsedMs += HOUR_MS
    aheadMs += 2 * DAY_MS
    expect(isHeld()).toBe(true)
    expect(lines).toHaveLength(2)
  })
})
