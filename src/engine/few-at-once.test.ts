import { setImmediate as immediately } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { fewAtOnce } from './few-at-once.ts'

const LONG_MS = 20

/** Tasks that say when they begin, and end when they are told. */
function tasks() {
  const began: string[] = []
  const ends = new Map<string, () => void>()
  const task = (name: string) => () => {
    began.push(name)
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    await immediately()
  }
  return { began, task, end }
}

describe('few at once', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('starts so many, and the next as each ends, in the order in which they came', async () => {
    const { began, task, end } = tasks()
    const start = fewAtOnce(2, 60_000)
    const done = ['a', 'b', 'c', 'd'].map((name) => start(task(name)))
    expect(began).toEqual(['a', 'b'])
    await end('b')
    expect(began).toEqual(['a', 'b', 'c'])
    for (const name of ['a', 'c', 'd']) await end(name)
    expect(await Promise.all(done)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('waits for none that takes long, and counts it once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { began, task, end } = tasks()
    const start = fewAtOnce(1, LONG_MS)
    const slow = start(task('slow'))
    const next = start(task('next'))
    const last = start(task('last'))
    expect(began).toEqual(['slow'])
    vi.advanceTimersByTime(LONG_MS)
    expect(began).toEqual(['slow', 'next'])
    // It counts no more, and so its end makes no room for another.
    await end('slow')
    expect(began).toEqual(['slow', 'next'])
    await end('next')
    expect(began).toEqual(['slow', 'next', 'last'])
    await end('last')
    expect(await Promise.all([slow, next, last])).toEqual(['slow', 'next', 'last'])
  })

  it('makes room after one that fails', async () => {
    const start = fewAtOnce(1, 60_000)
    const failed = start(() => Promise.reject(new Error('no')))
    const next = start(() => Promise.resolve('yes'))
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('yes')
  })

  it('makes room after one that throws before it gives a promise', async () => {
    const start = fewAtOnce(1, 60_000)
    const throws = (): Promise<string> => {
      throw new Error('at once')
    }
    const [before, failed, next] = [start(() => immediately()), start(throws), start(() => Promise.resolve('yes'))]
    await expect(failed).rejects.toThrow('at once')
    await before
    expect(await next).toBe('yes')
  })
})
