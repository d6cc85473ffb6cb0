/**
 * Fake timers for tests that count them: files of tests share a process, in which code of others sets timers as well.
 */
import { onTestFinished, vi } from 'vitest'

/**
 * Fakes the timers of `setTimeout` until the test ends; only `vi.advanceTimersByTime` lets their time pass. Returns a
 * function that counts those of `delayMs` that neither ran nor were cleared.
 */
export function fakeTimersOf(delayMs: number): () => number {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const pending = new Set<unknown>()
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const setCounted = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = set(() => {
      pending.delete(timer)
      run(...args)
    }, ms)
    if (ms === delayMs) pending.add(timer)
    return timer
  }
  const clearCounted = (timer?: NodeJS.Timeout) => {
    pending.delete(timer)
    clear(timer)
  }
  Object.assign(globalThis, { setTimeout: setCounted, clearTimeout: clearCounted })
  return () => pending.size
}
