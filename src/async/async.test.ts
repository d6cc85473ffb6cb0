/** The contract of the toolbox for waiting and keeping: each statement holds for every tool that it names. */
import { setImmediate as immediately } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { backOffMs, drawFraction } from './back-off.ts'
import {
  cacheById,
  cacheDerived,
  cacheValue,
  createBytesCache,
  createLru,
  createPromiseCache,
  memoize,
} from './cache.ts'
import { cacheRemote, type RemoteValue } from './cache-remote.ts'
import { limitConcurrency, serialQueue, serialQueueByKey } from './concurrency.ts'
import { singleFlight, singleFlightByKey } from './single-flight.ts'

/** Makes work that counts its runs; a run ends when it is settled. */
function countedWork() {
  const runs: { resolve: (value: number) => void; reject: (error: Error) => void }[] = []
  const work = () => new Promise<number>((resolve, reject) => runs.push({ resolve, reject }))
  return { runs, work }
}

const EXPIRY = { freshMs: 1000, usableMs: 1000, pauseMs: 0, now: () => new Date(0) }
const cachedBy = (work: () => Promise<number>) => {
  const cache = createPromiseCache<number>(8)
  return () => cache.get('a', work)
}
const LOADERS: [string, (work: () => Promise<number>) => () => Promise<number>][] = [
  ['singleFlight', (work) => singleFlight(work)],
  ['singleFlightByKey', (work) => singleFlightByKey(() => 'a', work)],
  ['createPromiseCache', cachedBy],
  ['cacheValue', (work) => cacheValue(work).get],
  ['cacheRemote', (work) => cacheRemote(EXPIRY, work, () => undefined).get],
]

describe.each(LOADERS)('%s', (_, make) => {
  it('runs once for concurrent callers, and gives all of them its result', async () => {
    const { runs, work } = countedWork()
    const load = make(work)
    const callers = [load(), load()]
    await immediately()
    callers.push(load())
    runs[0]?.resolve(7)
    expect(await Promise.all(callers)).toEqual([7, 7, 7])
    expect(runs).toHaveLength(1)
  })

  it('gives a failure to those who wait for it, and runs again for the next', async () => {
    const { runs, work } = countedWork()
    const load = make(work)
    const callers = [load(), load()]
    runs[0]?.reject(new Error('no'))
    const ends = await Promise.allSettled(callers)
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = load()
    runs[1]?.resolve(7)
    expect(await next).toBe(7)
  })
})

describe('memoize', () => {
  it('runs once, also for a result that is undefined, and again after a failure', () => {
    const runs: string[] = []
    const read = memoize<string | undefined>(() => {
      runs.push('run')
      if (runs.length === 1) throw new Error('no')
      return undefined
    })
    expect(read).toThrow('no')
    expect([read(), read(), runs.length]).toEqual([undefined, undefined, 2])
  })
})

describe('singleFlight', () => {
  it('runs again after the end of a run, and keys run beside one another', async () => {
    const run = singleFlightByKey(
      (key) => key,
      (key: string) => Promise.resolve({ key }),
    )
    const [a, alsoA, b] = [run('a'), run('a'), run('b')]
    expect(await a).toBe(await alsoA)
    expect(await b).toEqual({ key: 'b' })
    expect(await run('a')).not.toBe(await a)
  })
})

const refuse = (): never => {
  throw new Error('too many')
}
const queueByKey = serialQueueByKey(3, refuse)

describe('serialQueueByKey', () => {
  it('runs other keys at once, says who waited, and takes so many of a key', async () => {
    const run = serialQueueByKey(2, refuse)
    const said = (key: string) => run(key, async (hasWaited) => immediately().then(() => [key, hasWaited]))
    const tasks = [said('a'), said('a'), said('b')]
    await expect(said('a')).rejects.toThrow('too many')
    expect(await Promise.all(tasks)).toEqual([
      ['a', false],
      ['a', true],
      ['b', false],
    ])
    expect(await said('a')).toEqual(['a', false])
  })
})

const QUEUES: [string, () => <T>(task: () => Promise<T>) => Promise<T>][] = [
  ['serialQueue', serialQueue],
  ['serialQueueByKey, for one key', () => (task) => queueByKey('a', task)],
  ['limitConcurrency(1)', () => limitConcurrency(1)],
  ['limitConcurrency(1, longMs)', () => limitConcurrency(1, 60_000)],
]

describe.each(QUEUES)('%s', (_, make) => {
  it('starts each task after the one before has ended, in the order of the calls', async () => {
    const steps: string[] = []
    const task = (name: string) => async () => {
      steps.push(`${name} begins`)
      await immediately()
      steps.push(`${name} ends`)
      return name
    }
    const run = make()
    expect(await Promise.all([run(task('a')), run(task('b'))])).toEqual(['a', 'b'])
    expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  it.each<[string, () => Promise<string>]>([
    ['rejects', () => Promise.reject(new Error('no'))],
    [
      'throws before it returns a promise',
      () => {
        throw new Error('no')
      },
    ],
  ])('goes on after a task that %s', async (_what, failing) => {
    const run = make()
    const [before, failure, next] = [run(immediately), run(failing), run(() => Promise.resolve('yes'))]
    await expect(failure).rejects.toThrow('no')
    await before
    expect(await next).toBe('yes')
  })
})

describe('limitConcurrency', () => {
  const LONG_MS = 20
  function endableTasks() {
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
  afterEach(() => void vi.useRealTimers())

  it('starts as many tasks as the limit, and the next as each ends', async () => {
    const { began, task, end } = endableTasks()
    const run = limitConcurrency(2)
    const done = ['a', 'b', 'c', 'd'].map((name) => run(task(name)))
    expect(began).toEqual(['a', 'b'])
    await end('b')
    expect(began).toEqual(['a', 'b', 'c'])
    for (const name of ['a', 'c', 'd']) await end(name)
    expect(await Promise.all(done)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('frees the slot of a task that takes long, once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { began, task, end } = endableTasks()
    const run = limitConcurrency(1, LONG_MS)
    const done = ['slow', 'next', 'last'].map((name) => run(task(name)))
    vi.advanceTimersByTime(LONG_MS)
    expect(began).toEqual(['slow', 'next'])
    // The slot of the slow task is free already, so the end of that task makes no room for another.
    await end('slow')
    expect(began).toEqual(['slow', 'next'])
    await end('next')
    await end('last')
    expect(await Promise.all(done)).toEqual(['slow', 'next', 'last'])
  })
})

describe('createLru', () => {
  it('evicts the least recently used entry, and says which', () => {
    const values = createLru<string, number>(2)
    expect([values.set('a', 1), values.set('b', 2)]).toEqual([[], []])
    expect(values.get('a')).toBe(1)
    expect(values.set('c', 3)).toEqual(['b'])
    expect(['a', 'b', 'c'].map((key) => values.get(key))).toEqual([1, undefined, 3])
    values.set('a', 4)
    expect(values.set('d', 5)).toEqual(['c'])
    values.delete('a')
    expect(values.get('a')).toBe(undefined)
  })

  it('returns all values, which does not count as use', () => {
    const values = createLru<string, number>(2)
    values.set('a', 1)
    values.set('b', 2)
    expect(values.values()).toEqual([1, 2])
    expect(values.set('c', 3)).toEqual(['a'])
  })

  it('evicts as many as the weight of a new one asks for, and keeps none that is too heavy by itself', () => {
    const values = createLru<string, number>(10, (weight) => weight)
    expect([values.set('a', 4), values.set('b', 4), values.set('c', 2)]).toEqual([[], [], []])
    expect(values.set('d', 8)).toEqual(['a', 'b'])
    expect(values.set('d', 1)).toEqual([])
    expect(values.set('e', 7)).toEqual([])
    expect(values.set('f', 11)).toEqual(['f'])
    expect(['c', 'd', 'e', 'f'].map((key) => values.get(key))).toEqual([2, 1, 7, undefined])
    values.delete('e')
    expect(values.set('g', 7)).toEqual([])
  })
})

describe('a cache of bytes', () => {
  it('loads what has another tag, what was evicted and what failed, and shares what is being loaded', async () => {
    const cache = createBytesCache(3000)
    const loads: string[] = []
    const read = async (key: string, tag: string, bytes = 200) => {
      const load = () => {
        loads.push(key + tag)
        return bytes < 0 ? Promise.reject(new Error('no')) : Promise.resolve(Buffer.alloc(bytes))
      }
      return (await cache.get(key, tag, load)).length
    }
    expect(await Promise.all([read('a', '1'), read('a', '1')])).toEqual([200, 200])
    await read('a', '1')
    await read('a', '2')
    expect(loads.splice(0)).toEqual(['a1', 'a2'])
    await expect(read('b', '1', -1)).rejects.toThrow('no')
    await read('b', '1', 100)
    await read('c', '1', 1500)
    expect(loads.splice(0)).toEqual(['b1', 'b1', 'c1'])
    await read('b', '1')
    await read('a', '2')
    expect(loads.splice(0)).toEqual(['a2'])
  })

  it('holds no more memory than the bytes that it counts', async () => {
    const pooled = Buffer.from('a few bytes of a pool')
    expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.length)
    const kept = await createBytesCache(3000).get('a', '1', () => Promise.resolve(pooled))
    expect([kept.buffer.byteLength, kept]).toEqual([pooled.length, pooled])
  })
})

describe('a cache with an expiry', () => {
  it('loads again when a value is as old as its time to live, or younger than the clock allows', async () => {
    const clock = { at: 0 }
    let loads = 0
    const value = cacheValue(() => Promise.resolve(++loads), { ttlMs: 1000, now: () => new Date(clock.at) })
    const read = (at: number) => {
      clock.at = at
      return value.get()
    }
    expect([await read(0), await read(999), await read(1000), await read(500)]).toEqual([1, 1, 2, 3])
  })
})

describe('cacheValue', () => {
  it('loads again after it was invalidated, also during a run, whose failure leaves the newer value alone', async () => {
    const { runs, work } = countedWork()
    const value = cacheValue(work)
    const first = value.get()
    value.invalidate()
    const second = value.get()
    runs[0]?.reject(new Error('no'))
    runs[1]?.resolve(2)
    await expect(first).rejects.toThrow('no')
    expect([await second, await value.get(), runs.length]).toEqual([2, 2, 2])
  })
})

describe('createPromiseCache', () => {
  it('holds as many values as its size', async () => {
    const cache = createPromiseCache<string>(1)
    const load = vi.fn((value: string) => Promise.resolve(value))
    for (const key of ['a', 'a', 'b', 'a']) expect(await cache.get(key, () => load(key))).toBe(key)
    expect(load.mock.calls.flat()).toEqual(['a', 'b', 'a'])
  })
})

describe('cacheById', () => {
  it('keeps what is there, and asks again for what is not', async () => {
    const stored = new Map([['a', 1]])
    const asked: string[] = []
    const read = cacheById(8, (id) => {
      asked.push(id)
      return Promise.resolve(stored.get(id))
    })
    expect([await read('a'), await read('a'), await read('b')]).toEqual([1, 1, undefined])
    stored.set('b', 2)
    expect(await read('b')).toBe(2)
    expect(asked).toEqual(['a', 'b', 'b'])
  })
})

describe('cacheDerived', () => {
  it('derives anew when the source is another object', () => {
    let source = { n: 1 }
    const derived = cacheDerived(
      () => source,
      ({ n }) => ({ double: 2 * n }),
    )
    const first = derived()
    expect(derived()).toBe(first)
    source = { n: 2 }
    expect([first, derived()]).toEqual([{ double: 2 }, { double: 4 }])
  })
})

describe('cacheRemote', () => {
  let at: number
  let loads: number
  let load: () => Promise<number>
  let failures: unknown[]
  let value: RemoteValue<number>
  beforeEach(() => {
    at = 0
    loads = 0
    failures = []
    load = () => Promise.resolve(loads)
    const count = () => {
      loads += 1
      return load()
    }
    const expiry = { freshMs: 100, usableMs: 1000, pauseMs: 10, now: () => new Date(at) }
    value = cacheRemote(expiry, count, (error) => void failures.push(error))
  })
  const fail = () => {
    load = () => Promise.reject(new Error(`failure ${loads}`))
  }

  it('uses a value while it is fresh', async () => {
    expect(await value.get()).toBe(1)
    at = 99
    expect(await value.get()).toBe(1)
    at = 100
    expect(await Promise.all([value.get(), value.get()])).toEqual([2, 2])
  })

  it('loads again when the value is not enough, but not within the pause', async () => {
    const isEnough = (known: number) => known === 2
    expect(await value.get(isEnough)).toBe(1)
    at = 9
    expect(await value.get(isEnough)).toBe(1)
    at = 10
    expect(await Promise.all([value.get(isEnough), value.get(isEnough)])).toEqual([2, 2])
    expect(loads).toBe(2)
  })

  it('rejects while there is no value, and tries once in a pause', async () => {
    fail()
    await expect(value.get()).rejects.toThrow('failure 1')
    at = 9
    await expect(value.get()).rejects.toThrow('failure 1')
    at = 10
    await expect(value.get()).rejects.toThrow('failure 2')
    expect(failures).toEqual([])
  })

  it('goes on with a usable value when it cannot be loaded again, and says so once in a pause', async () => {
    await value.get()
    fail()
    at = 999
    expect([await value.get(), await value.get()]).toEqual([1, 1])
    expect(failures).toHaveLength(1)
    at = 1000
    await expect(value.get()).rejects.toThrow('failure 2')
    at = 1009
    await expect(value.get()).rejects.toThrow('failure 3')
    load = () => Promise.resolve(7)
    at = 1019
    expect(await value.get()).toBe(7)
  })

  it('loads again when the clock was set back, whether the load before succeeded or failed', async () => {
    at = 10_000
    expect(await value.get()).toBe(1)
    at = 9999
    expect([await value.get(), await value.get()]).toEqual([2, 2])
    fail()
    at = 11_000
    await expect(value.get()).rejects.toThrow('failure 3')
    load = () => Promise.resolve(7)
    at = 0
    expect(await value.get()).toBe(7)
  })

  it('uses no old value where the clock was set back, since the age of the value is not known', async () => {
    at = 10_000
    await value.get()
    fail()
    at = 0
    await expect(value.get()).rejects.toThrow('failure 2')
  })
})

describe('the pauses between attempts', () => {
  it('double with each failure up to the longest', () => {
    const backOff = { firstMs: 100, longestMs: 500 }
    expect([0, 1, 2, 3, 4, 1e6].map((failures) => backOffMs(backOff, failures))).toEqual([100, 100, 200, 400, 500, 500])
  })

  it.each([
    [[0, 0], 0],
    [[128, 0], 0.5],
    [[255, 255], 65_535 / 65_536],
  ])('are drawn from random bytes: %j is %d', (bytes, fraction) => {
    expect(drawFraction((count) => Uint8Array.from(bytes.slice(0, count)))).toBe(fraction)
  })
})
