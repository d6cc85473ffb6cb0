import { afterEach, describe, expect, it, vi } from 'vitest'
import { createCallQueue } from './call-queue.ts'

/** Makes a call that runs until it is told to end, and says for how long it may wait further. */
function held() {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let started: (leftMs: number) => void = () => undefined
  const leftMs = new Promise<number>((resolve) => {
    started = resolve
  })
  const work = async (left: number): Promise<string> => {
    started(left)
    await ended
    return 'done'
  }
  return { work, end, leftMs }
}

describe('a queue of calls', () => {
  afterEach(() => void vi.useRealTimers())
  const stopClock = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })

  it('gives up a call that waits for too long, while the one before it still runs', async () => {
    stopClock()
    const calls = createCallQueue({ concurrent: 8, queued: 8, queueSeconds: 60 })
    const first = held()
    const running = calls.run('serial', first.work)
    const waiting = [calls.run('serial', held().work), calls.run('serial', held().work, true)]
    vi.advanceTimersByTime(59_999)
    expect(calls.countWaiting()).toBe(2)
    vi.advanceTimersByTime(1)
    expect(await Promise.all(waiting)).toEqual([
      { kind: 'overloaded', limit: 'queueSeconds' },
      { kind: 'overloaded', limit: 'queueSeconds' },
    ])
    expect(calls.countWaiting()).toBe(0)
    first.end()
    expect(await running).toBe('done')
  })

  it('tells a call how much of its time to wait is left', async () => {
    stopClock()
    const calls = createCallQueue({ concurrent: 1, queued: 8, queueSeconds: 60 })
    const [first, second] = [held(), held()]
    const both = [calls.run('shared', first.work), calls.run('shared', second.work)]
    expect(await first.leftMs).toBe(60_000)
    vi.advanceTimersByTime(20_000)
    first.end()
    expect(await second.leftMs).toBe(40_000)
    second.end()
    expect(await Promise.all(both)).toEqual(['done', 'done'])
  })

  it('takes no more calls than may wait, but for one that runs again, which goes first', async () => {
    const calls = createCallQueue({ concurrent: 1, queued: 1, queueSeconds: 60 })
    const order: string[] = []
    const noted = (name: string) => () => Promise.resolve(void order.push(name))
    const first = held()
    const all = [calls.run('shared', first.work), calls.run('shared', noted('second'))]
    expect(await calls.run('shared', noted('third'))).toEqual({ kind: 'overloaded', limit: 'queued' })
    all.push(calls.run('shared', noted('again'), true))
    first.end()
    await Promise.all(all)
    expect(order).toEqual(['again', 'second'])
  })

  it('runs one call at a time of those that write, and those that read beside it', async () => {
    const calls = createCallQueue({ concurrent: 8, queued: 8, queueSeconds: 60 })
    const [writing, reading, next] = [held(), held(), held()]
    const all = [calls.run('serial', writing.work), calls.run('serial', next.work), calls.run('shared', reading.work)]
    await reading.leftMs
    expect(calls.countWaiting()).toBe(1)
    writing.end()
    await next.leftMs
    reading.end()
    next.end()
    await Promise.all(all)
  })
})
