import { describe, expect, it } from 'vitest'
import { kept } from './kept.ts'

describe('a value that is kept', () => {
  const made = (milliseconds: number) => {
    const clock = { at: 0 }
    const calls: number[] = []
    const value = kept(
      milliseconds,
      () => new Date(clock.at),
      () => {
        calls.push(clock.at)
        return calls.length === 3 ? Promise.reject(new Error('no')) : Promise.resolve(calls.length)
      },
    )
    return { clock, value, calls }
  }

  it('is made once for all who ask until its time is over', async () => {
    const { clock, value, calls } = made(1000)
    expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1])
    clock.at = 999
    expect(await value.get()).toBe(1)
    clock.at = 1000
    expect(await value.get()).toBe(2)
    expect(calls).toEqual([0, 1000])
  })

  it('is made anew when it was forgotten, also while it was being made', async () => {
    const { value } = made(1000)
    const first = value.get()
    value.forget()
    expect([await value.get(), await first, await value.get()]).toEqual([2, 1, 2])
  })

  it('is tried again after a failure', async () => {
    const { value } = made(0)
    await value.get()
    await value.get()
    await expect(value.get()).rejects.toThrow('no')
    expect(await value.get()).toBe(4)
  })
})
