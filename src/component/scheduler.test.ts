import { describe, expect, it } from 'vitest'
import { createScheduler, type HeldWorker } from './scheduler.ts'

const at = (now: number) => () => now
const request = (owner: string) => ({ owner, isBackground: false })
const hook = (owner: string) => ({ owner, isBackground: true })
const computing = (owner: string) => ({ ...request(owner), computes: true })
const asleep = (owner: string) => ({ ...request(owner), computes: false })

describe('turns', () => {
  it('go to the contract that holds the fewest workers, in the order of its calls', () => {
    const turns = createScheduler(2, at(0))
    const waiting = [request('a'), request('b'), request('b')]
    expect(turns.findNext(waiting, [])).toBe(0)
    expect(turns.findNext(waiting, [computing('a')])).toBe(1)
    expect(turns.findNext([], [computing('a')])).toBe(-1)
  })

  it('leave a contract that was slow one worker to compute on, and all the others that wait for answers', () => {
    const turns = createScheduler(2, at(0))
    turns.noteTime('a', 1000)
    expect(turns.findNext([request('a')], [computing('a')])).toBe(-1)
    expect(turns.findNext([request('a')], [asleep('a'), asleep('a')])).toBe(0)
    expect(turns.findNext([request('a')], [asleep('a'), computing('a')])).toBe(-1)
  })

  it('forget after a minute that a contract was slow', () => {
    let now = 0
    const turns = createScheduler(2, () => now)
    turns.noteTime('a', 1000)
    now = 60_001
    expect(turns.findNext([request('a')], [computing('a')])).toBe(0)
  })

  it('leave workers to a third contract when two have all the workers that they may have asleep', () => {
    const turns = createScheduler(2, at(0))
    const held: HeldWorker[] = []
    for (const owner of ['a', 'b']) while (turns.findNext([request(owner)], held) === 0) held.push(asleep(owner))
    expect(held.length).toBeLessThan(8)
    expect(turns.findNext([request('a'), request('b'), request('c')], held)).toBe(2)
  })

  it('give no contract more than twice the workers, however many of them wait for answers', () => {
    const turns = createScheduler(2, at(0))
    const held = Array.from({ length: 4 }, () => asleep('a'))
    expect(turns.findNext([request('a')], held)).toBe(-1)
    expect(turns.findNext([request('a'), request('b')], held)).toBe(1)
  })

  it('of hooks and timers leave the spare workers to requests', () => {
    const turns = createScheduler(2, at(0))
    const looping = ['a', 'b'].map((owner) => ({ ...hook(owner), computes: true }))
    expect(turns.findNext([hook('c')], looping.slice(1))).toBe(0)
    expect(turns.findNext([hook('c')], looping)).toBe(-1)
    expect(turns.findNext([hook('c'), request('d')], looping)).toBe(1)
    expect(turns.findNext([hook('c')], [computing('a'), computing('b')])).toBe(0)
    expect(turns.findNext([hook('c')], [asleep('a'), { ...hook('b'), computes: false }])).toBe(0)
  })

  it('of hooks and timers leave a worker to those of contracts that are not slow', () => {
    const turns = createScheduler(2, at(0))
    for (const owner of ['a', 'b']) turns.noteTime(owner, 30_000)
    const looping = [{ ...hook('a'), computes: true }]
    expect(turns.findNext([hook('b')], looping)).toBe(-1)
    expect(turns.findNext([hook('b'), hook('c')], looping)).toBe(1)
    expect(turns.findNext([request('b')], looping)).toBe(0)
    expect(turns.findNext([hook('b')], [{ ...hook('c'), computes: true }])).toBe(0)
    expect(turns.findNext([hook('b')], [{ ...hook('a'), computes: false }])).toBe(0)
    const single = createScheduler(1, at(0))
    single.noteTime('a', 30_000)
    expect(single.findNext([hook('a')], [])).toBe(0)
  })

  it('go to a contract that was slow after those that hold as many workers, and before those that hold more', () => {
    const turns = createScheduler(4, at(0))
    turns.noteTime('slow', 1000)
    expect(turns.findNext([request('slow'), request('b')], [])).toBe(1)
    expect(turns.findNext([request('b'), request('slow')], [computing('b')])).toBe(1)
  })
})
