import { describe, expect, it } from 'vitest'
import { CONTRACT, ENGINE, serving, text } from '../../test/support/engine.ts'
import { answer, closedAfterwards, later } from '../../test/support/engine-calls.ts'
import { ChainError } from '../chain/chain.ts'

/** The stack of an error of this file. */
const STACK = expect.stringContaining('watcher-unread.test.ts') as string

it('logs why a chain cannot be asked: the sentence of the chain, or an unexpected error as a whole', async () => {
  const engine = await serving({ http: () => Promise.resolve(text('yes')) })
  closedAfterwards(engine)
  const fetchHead = engine.chain.fetchHead.bind(engine.chain)
  for (const error of [new ChainError('the node answers nothing'), new TypeError('a mistake')]) {
    engine.chain.fetchHead = () => Promise.reject(error)
    await engine.rounds(1)
    engine.chain.fetchHead = fetchHead
    await engine.rounds(1)
  }
  const lines = engine.logLines.filter((line) => line.includes('chain_not_seen'))
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { why: 'the node answers nothing' },
    { err: { type: 'TypeError', message: 'a mistake', stack: STACK } },
  ])
})

describe('a contract that cannot be read', () => {
  const OTHER = `00${'d2'.repeat(20)}`

  /** Serves two contracts with one component; `refuse` makes the node refuse what is asked of these. */
  const withTwo = async () => {
    const engine = await serving({ http: () => Promise.resolve(text('yes')) })
    closedAfterwards(engine)
    engine.chain.set({ address: OTHER, component: { sha256: [...engine.files.keys()][0] ?? '', uri: '' } })
    await engine.rounds()
    const contract = engine.chain.fetchContract.bind(engine.chain)
    const refused = new Set<string>()
    const asked: string[] = []
    engine.chain.fetchContract = (address, block) => {
      asked.push(address)
      return refused.has(address) ? Promise.reject(new Error('too many requests')) : contract(address, block)
    }
    return { engine, refused, asked, other: `/offchain/${OTHER}` }
  }

  it('keeps nobody from seeing the others, and is served as it was for a while', async () => {
    const { engine, refused, other } = await withTwo()
    refused.add(CONTRACT)
    engine.chain.set({ address: CONTRACT, engines: [] })
    engine.chain.set({ address: OTHER, engines: [] })
    await engine.rounds()
    expect([await answer(engine), await answer(engine, other)]).toEqual(['yes', 'not-this-engine'])
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_contracts_unread 1')
    engine.chain.set({ address: OTHER, engines: [{ address: ENGINE, endpoint: '' }] })
    for (let times = 0; times < 4; times++) {
      later(engine, 16)
      await engine.rounds()
    }
    expect([await answer(engine), await answer(engine, other)]).toEqual(['stale-chain', 'yes'])
    const lines = engine.logLines.filter((line) => line.includes('contract_not_read'))
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { contract: CONTRACT, err: { type: 'Error', message: 'too many requests', stack: STACK } },
    ])
  })

  it('is read again by itself, without a new block, and less and less often', async () => {
    const { engine, refused, asked } = await withTwo()
    refused.add(CONTRACT)
    engine.chain.set({ address: CONTRACT, engines: [] })
    await engine.rounds()
    asked.length = 0
    for (let second = 0; second < 60; second++) {
      later(engine, 1)
      await engine.rounds()
    }
    expect([...new Set(asked)]).toEqual([CONTRACT])
    // After 1, 2, 4 and 8 seconds, and then every 15.
    expect(asked.length).toBe(7)
    refused.clear()
    later(engine, 15)
    await engine.rounds()
    expect(await answer(engine)).toBe('not-this-engine')
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_contracts_unread 0')
  })

  it('is read by turns with those that are served, however many cannot be read in time', async () => {
    const { engine } = await withTwo()
    const contract = engine.chain.fetchContract.bind(engine.chain)
    const slow = Array.from({ length: 400 }, (_, at) => `00${(at + 1).toString(16).padStart(40, '0')}`)
    engine.chain.fetchContract = (address, block) => {
      if (slow.includes(address)) later(engine, 1)
      return contract(address, block)
    }
    engine.chain.listContracts = () => Promise.resolve([...slow, OTHER, CONTRACT])
    engine.chain.mine()
    await engine.rounds(1)
    engine.chain.set({ address: CONTRACT, engines: [] })
    await engine.rounds(1)
    expect(await answer(engine)).toBe('not-this-engine')
  })

  it('is read again by a clock that nobody sets, and is stale in its time', async () => {
    const { engine, refused } = await withTwo()
    refused.add(CONTRACT)
    engine.chain.set({ address: CONTRACT, engines: [] })
    await engine.rounds()
    engine.clock.aheadMs = -3_600_000
    for (let times = 0; times < 4; times++) {
      later(engine, 16)
      engine.chain.mine()
      await engine.rounds()
    }
    expect(await answer(engine)).toBe('stale-chain')
    refused.clear()
    later(engine, 16)
    await engine.rounds()
    expect(await answer(engine)).toBe('not-this-engine')
  })

  it('takes no more than some seconds of a look, after which the next goes on where it ended', async () => {
    const { engine } = await withTwo()
    const contract = engine.chain.fetchContract.bind(engine.chain)
    const slow = Array.from({ length: 40 }, (_, at) => `00${(at + 1).toString(16).padStart(40, '0')}`)
    engine.chain.fetchContract = (address, block) => {
      if (slow.includes(address)) later(engine, 1)
      return contract(address, block)
    }
    const newest = `00${'ee'.repeat(20)}`
    const names = [...slow, OTHER, CONTRACT]
    engine.chain.listContracts = () => Promise.resolve(names)
    engine.chain.mine()
    const begun = engine.clock.now.getTime()
    await engine.rounds(1)
    // Contracts are begun together, of which each takes a second.
    expect(engine.clock.now.getTime() - begun).toBe(16_000)
    names.push(newest)
    engine.chain.set({ address: newest, engines: [] })
    engine.chain.set({ address: CONTRACT, engines: [] })
    for (let looks = 0; looks < 4; looks++) {
      engine.chain.mine()
      await engine.rounds(1)
    }
    expect(await answer(engine)).toBe('not-this-engine')
    expect(await answer(engine, `/offchain/${newest}`)).toBe('not-this-engine')
  })
})
