import { describe, expect, it } from 'vitest'
import { CONTRACT, type Script } from '../../test/support/engine.ts'
import { closedAfterwards, contractsOf, later, saying, started } from '../../test/support/engine-calls.ts'

describe('the state change hook', () => {
  const counting = () => {
    const seen: number[] = []
    let fails = false
    const script: Script = {
      stateChange: ({ call }) => {
        seen.push(call.block.number)
        return fails ? Promise.reject(new Error('not now')) : Promise.resolve()
      },
    }
    return {
      seen,
      script,
      fail: (so: boolean) => {
        fails = so
      },
    }
  }

  it('runs once at the start, once for many changes, and not without one', async () => {
    const { seen, script } = counting()
    const engine = await started(script)
    expect(seen).toEqual([1])
    engine.chain.mine()
    await engine.rounds()
    expect(seen).toEqual([1])
    for (let changes = 0; changes < 5; changes++) engine.chain.mine([CONTRACT])
    await engine.rounds()
    expect(seen).toEqual([1, 7])
    const restarted = closedAfterwards(await engine.restart())
    await restarted.rounds()
    expect(seen).toEqual([1, 7, 7])
  })

  it('is tried again, less and less often, and given up until the contract changes', async () => {
    const { seen, script, fail } = counting()
    fail(true)
    const engine = await started(script)
    expect(seen).toHaveLength(1)
    for (let tries = 0; tries < 20; tries++) {
      later(engine, 300)
      await engine.rounds(1)
    }
    expect(seen).toHaveLength(8)
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_dead_hooks 1')
    expect((await contractsOf(engine))[0]).toMatchObject({
      state_change: 'dead',
      state_change_problem: { why: 'component-trap', attempts: 8, again: null },
    })
    fail(false)
    engine.chain.mine([CONTRACT])
    await engine.rounds()
    expect(seen).toHaveLength(9)
    expect((await contractsOf(engine))[0]).toMatchObject({ state_change: 'done' })
    expect((await contractsOf(engine))[0]).not.toHaveProperty('state_change_problem')
  })

  it('that failed is tried again in time when the clock is set back, and says by that clock when', async () => {
    const { seen, script, fail } = counting()
    fail(true)
    const engine = await started(script)
    expect(seen).toHaveLength(1)
    engine.clock.aheadMs = -3_600_000
    later(engine, 0.5)
    const again = new Date(engine.clock.now.getTime() - 3_600_000 + 500).toISOString()
    expect((await contractsOf(engine))[0]).toMatchObject({ state_change_problem: { again } })
    later(engine, 0.5)
    await engine.rounds(1)
    expect(seen).toHaveLength(2)
  })

  it('that failed has no failure any more once the contract has changed', async () => {
    const { script, fail } = counting()
    fail(true)
    const engine = await started(script)
    expect((await contractsOf(engine))[0]).toMatchObject({ state_change_problem: { attempts: 1 } })
    engine.chain.mine([CONTRACT])
    await engine.task('chain')
    expect((await contractsOf(engine))[0]).toMatchObject({ state_change: 'pending' })
    expect((await contractsOf(engine))[0]).not.toHaveProperty('state_change_problem')
  })

  it('runs again, and everything is read anew, when the chain takes back a block', async () => {
    const { seen, script } = counting()
    const engine = await started({ ...script, ...saying('x') })
    engine.chain.mine()
    await engine.rounds()
    engine.chain.reorganise(1)
    await engine.rounds()
    expect(seen).toHaveLength(2)
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('3')
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_reorganisations_total 1')
  })

  it('is not disturbed by a node that is behind', async () => {
    const { seen, script } = counting()
    const engine = await started({ ...script, ...saying('x') })
    const old = await engine.chain.fetchHead()
    engine.chain.mine([CONTRACT])
    await engine.rounds()
    engine.chain.fetchHead = () => Promise.resolve(old)
    await engine.rounds()
    expect(seen).toEqual([1, 2])
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })
})
