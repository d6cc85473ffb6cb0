import { beforeEach, describe, expect, it } from 'vitest'
import { type Published, published } from './published.ts'

describe('what another server publishes', () => {
  let at: number
  let loads: number
  let load: () => Promise<number>
  let failures: unknown[]
  let value: Published<number>
  beforeEach(() => {
    at = 0
    loads = 0
    failures = []
    load = () => Promise.resolve(loads)
    const count = () => {
      loads += 1
      return load()
    }
    const keeping = { fresh: 100, usable: 1000, pause: 10 }
    value = published(
      keeping,
      () => new Date(at),
      count,
      (error) => void failures.push(error),
    )
  })
  const fail = () => {
    load = () => Promise.reject(new Error(`failure ${loads}`))
  }

  it('is fetched once for all who ask at the same time, and kept while it is fresh', async () => {
    expect(await Promise.all([value.get(), value.get(), value.get()])).toEqual([1, 1, 1])
    at = 99
    expect(await value.get()).toBe(1)
    at = 100
    expect(await Promise.all([value.get(), value.get()])).toEqual([2, 2])
  })

  it('is fetched again when it is not enough, but not within the pause', async () => {
    const isEnough = (known: number) => known === 2
    expect(await value.get(isEnough)).toBe(1)
    at = 9
    expect(await value.get(isEnough)).toBe(1)
    at = 10
    expect(await Promise.all([value.get(isEnough), value.get(isEnough)])).toEqual([2, 2])
    expect(loads).toBe(2)
  })

  it('cannot be had when it cannot be fetched, which is tried once in a pause', async () => {
    fail()
    const all = await Promise.allSettled([value.get(), value.get()])
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    at = 9
    await expect(value.get()).rejects.toThrow('failure 1')
    at = 10
    await expect(value.get()).rejects.toThrow('failure 2')
    expect(failures).toEqual([])
  })

  it('serves on when it cannot be fetched again, as long as it is usable, and says so once in a pause', async () => {
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
})
