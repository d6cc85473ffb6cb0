import { describe, expect, it } from 'vitest'
import { CONTRACT, serving, type TestEngine, text } from '../../test/support/engine.ts'
import { closedAfterwards } from '../../test/support/engine-calls.ts'
import { createHeadAge } from './standstill.ts'

const problemOf = async ({ engine }: TestEngine, path: string) => {
  const { statusCode, headers } = await engine.app.inject(path)
  return statusCode === 200 ? 'served' : [statusCode, headers['x-engine-error']]
}
const later = async (engine: TestEngine, seconds: number): Promise<void> => {
  engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
  await engine.rounds()
}

/** An engine of an EVM chain, whose node answers all the time. */
const onEvm = async (more: object = {}): Promise<TestEngine> => {
  const chain = { type: 'evm', rpcUrl: 'http://localhost:8545', ...more }
  const engine = await serving(
    { http: () => Promise.resolve(text('yes')) },
    {
      settings: { chain, contractFilter: [CONTRACT] },
    },
  )
  return closedAfterwards(engine)
}

describe('a chain whose node answers, and has no new blocks', () => {
  it('is stale after staleSeconds, until it moves', async () => {
    const engine = await onEvm()
    await later(engine, 60)
    expect(await problemOf(engine, engine.url)).toBe('served')
    await later(engine, 1)
    expect(await problemOf(engine, engine.url)).toEqual([503, 'stale-chain'])
    expect(await problemOf(engine, '/health/ready')).toEqual([503, 'stale-chain'])
    expect((await engine.engine.app.inject('/engine')).json()).toMatchObject({ stale: true })
    await later(engine, 600)
    expect(engine.logLines.filter((line) => line.includes('chain_stands_still'))).toHaveLength(1)
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_chain_head_age_seconds 661')
    engine.chain.mine()
    await engine.rounds()
    expect(await problemOf(engine, engine.url)).toBe('served')
    expect(await problemOf(engine, '/health/ready')).toBe('served')
    expect(engine.logLines.filter((line) => line.includes('chain_moves'))).toHaveLength(1)
  })

  it('is stale at the start of an engine too, as its newest block says', async () => {
    const engine = await onEvm()
    engine.clock.now = new Date(engine.clock.now.getTime() + 61_000)
    const restarted = await engine.restart()
    closedAfterwards(restarted)
    await restarted.rounds()
    expect(await problemOf(restarted, restarted.url)).toEqual([503, 'stale-chain'])
  })

  it('is stale though the times in its blocks are ahead of the clock', async () => {
    const engine = await onEvm()
    const { now } = engine.clock
    engine.clock.now = new Date(now.getTime() + 3_600_000)
    engine.chain.mine()
    engine.clock.now = now
    await engine.rounds()
    await later(engine, 61)
    expect(await problemOf(engine, engine.url)).toEqual([503, 'stale-chain'])
  })

  it('is stale though other nodes behind the same address are further behind', async () => {
    const engine = await onEvm()
    const old = await engine.chain.fetchHead()
    engine.chain.mine()
    await engine.rounds()
    const newest = await engine.chain.fetchHead()
    for (let seconds = 0; seconds < 61; seconds++) {
      engine.chain.fetchHead = () => Promise.resolve(seconds % 2 === 0 ? old : newest)
      await later(engine, 1)
    }
    expect(await problemOf(engine, engine.url)).toEqual([503, 'stale-chain'])
  })

  it('is no older than its newest block, however many confirmations the operator wants', async () => {
    const engine = await onEvm()
    const old = await engine.chain.fetchHead()
    for (let blocks = 0; blocks < 10; blocks++) {
      const newest = { ...old, number: blocks + 2, time: engine.clock.now }
      engine.chain.fetchHead = () => Promise.resolve({ ...old, newest })
      await later(engine, 12)
    }
    expect(await problemOf(engine, engine.url)).toBe('served')
  })

  it('is as it should be where the operator says that blocks come on demand', async () => {
    const engine = await onEvm({ blocksOnDemand: true })
    await later(engine, 86_400)
    expect(await problemOf(engine, engine.url)).toBe('served')
    expect(await problemOf(engine, '/health/ready')).toBe('served')
    engine.chain.isDown = true
    await later(engine, 61)
    expect(await problemOf(engine, engine.url)).toEqual([503, 'stale-chain'])
  })
})

describe('the age of the newest block', () => {
  it('does not begin anew when the clock of the engine is set back', () => {
    const clock = { now: new Date(1_000_000) }
    const age = createHeadAge(() => clock.now)
    expect(age.getSeconds()).toBe(0)
    const block = { number: 7, hash: '0x07', time: new Date(1_000_000) }
    age.noteHead(block, false)
    clock.now = new Date(400_000)
    age.noteHead(block, false)
    clock.now = new Date(470_000)
    expect(age.getSeconds()).toBe(70)
  })

  it('begins anew with a shorter chain that took the place of another', () => {
    const clock = { now: new Date(1_000_000) }
    const age = createHeadAge(() => clock.now)
    age.noteHead({ number: 7, hash: '0x07', time: clock.now }, false)
    clock.now = new Date(1_050_000)
    age.noteHead({ number: 5, hash: '0x05', time: clock.now }, true)
    expect(age.getSeconds()).toBe(0)
  })
})
