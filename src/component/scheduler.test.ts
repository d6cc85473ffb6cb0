import { describe, expect, it } from 'vitest'
import { createScheduler } from './scheduler.ts'

const at = (now: number) => () => now
const computing = (owner: string) => ({ owner, computes: true })
const asleep = (owner: string) => ({ owner, computes: false })

describe('turns', () => {
  it('go to the contract that holds the fewest workers, in the order of its calls', () => {
    const turns = createScheduler(2, at(0))
    const waiting = [{ owner: 'a' }, { owner: 'b' }, { owner: 'b' }]
    expect(turns.findNext(waiting, [])).toBe(0)
    expect(turns.findNext(waiting, [computing('a')])).toBe(1)
    expect(turns.findNext([], [computing('a')])).toBe(-1)
  })

  it('leave a contract that was slow one worker to compute on, and all the others that wait for answers', () => {
    const turns = createScheduler(2, at(0))
    turns.noteTime('a', 1000)
    expect(turns.findNext([{ owner: 'a' }], [computing('a')])).toBe(-1)
    expect(turns.findNext([{ owner: 'a' }], [asleep('a'), asleep('a')])).toBe(0)
    expect(turns.findNext([{ owner: 'a' }], [asleep('a'), computing('a')])).toBe(-1)
  })

  it('forget after a minute that a contract was slow', () => {
    let now = 0
    const turns = createScheduler(2, () => now)
    turns.noteTime('a', 1000)
    now = 60_001
    expect(turns.findNext([{ owner: 'a' }], [computing('a')])).toBe(0)
  })

  it('leave workers to a third contract when two have all the workers that they may have asleep', () => {
    const turns = createScheduler(2, at(0))
    const held: { owner: string; computes: boolean }[] = []
    for (const owner of ['a', 'b']) while (turns.findNext([{ owner }], held) === 0) held.push(asleep(owner))
    expect(held.length).toBeLessThan(8)
    expect(turns.findNext([{ owner: 'a' }, { owner: 'b' }, { owner: 'c' }], held)).toBe(2)
  })

  it('give no contract more than twice the workers, however many of them wait for answers', () => {
    const turns = createScheduler(2, at(0))
    const held = Array.from({ length: 4 }, () => asleep('a'))
    expect(turns.findNext([{ owner: 'a' }], held)).toBe(-1)
    expect(turns.findNext([{ owner: 'a' }, { owner: 'b' }], held)).toBe(1)
  })
})
