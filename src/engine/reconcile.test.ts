import { describe, expect, it } from 'vitest'
import { CONTRACT, ENGINE, type Script, serving, type TestEngine, text } from '../../test/support/engine.ts'
import { closeAfterTest } from '../../test/support/engine-calls.ts'
import { openTestStore } from '../../test/support/store.ts'
import { ChainError } from '../chain/chain.ts'
import { writer } from '../offchain/rpc.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

const ask = async ({ engine, url }: TestEngine, method: 'GET' | 'POST' = 'GET') => {
  const { statusCode, body, headers } = await engine.app.inject({ method, url })
  return statusCode === 200 ? body : [statusCode, headers['x-engine-error']]
}
const events = ({ logLines }: TestEngine, name: string) => logLines.filter((line) => line.includes(`"${name}"`))
const stateOf = async ({ engine }: TestEngine) =>
  (await engine.app.inject('/engine')).json<{ contracts: { state: string }[] }>().contracts[0]?.state
const RECONCILING = [503, 'reconciling']

/** Counts its posts. Its hook fails while the test says so. */
const counting = () => {
  const world = { fails: false, runs: 0, timers: 0, during: () => Promise.resolve() }
  const script: Script = {
    http: async (hands) => {
      const { call } = hands
      const before = (await hands.get('count')) ?? '0'
      if (call.hook.kind === 'http' && call.hook.request.method === 'POST') {
        hands.set('count', String(Number(before) + 1))
        hands.timer(1, 1000)
        await world.during()
      }
      return text(before)
    },
    stateChange: () => {
      world.runs++
      return world.fails ? Promise.reject(new Error('not now')) : Promise.resolve()
    },
    timer: () => {
      world.timers++
      return Promise.resolve()
    },
  }
  return { world, script }
}
/** Serves a contract that was posted to once, at a block that the chain can take back. */
const postedTo = async (...args: Parameters<typeof serving>): Promise<TestEngine> => {
  const engine = await closeAfterTest(serving(...args))
  engine.chain.mine()
  await engine.rounds()
  expect(await ask(engine, 'POST')).toBe('0')
  return engine
}
const lookOnly = (engine: TestEngine) => engine.task('chain')

describe('a chain that takes back a block which a contract had been acted on at', () => {
  it('has the contract answer 503 until its hook has run, and the log say so', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    engine.chain.reorganise(1)
    await lookOnly(engine)
    expect(await ask(engine)).toEqual(RECONCILING)
    expect(await stateOf(engine)).toBe('reconciling')
    expect(JSON.parse(events(engine, 'acted_on_lost_block')[0] ?? '{}')).toMatchObject({ block: 2, level: 40 })
    const before = world.runs
    await engine.rounds()
    expect([await ask(engine), await stateOf(engine), world.runs]).toEqual(['1', 'served', before + 1])
    expect(events(engine, 'reconciled')).toHaveLength(1)
  })

  it('has it wait for as long as the hook fails, and its timers too', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    world.fails = true
    engine.chain.reorganise(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 2000)
    await engine.rounds()
    expect([await ask(engine), world.timers]).toEqual([RECONCILING, 0])
    world.fails = false
    engine.clock.now = new Date(engine.clock.now.getTime() + 5000)
    await engine.rounds()
    expect([await ask(engine), world.timers]).toEqual(['1', 1])
  })

  it('has the hook run again and again, and the answer and the status say why it fails', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    world.fails = true
    engine.chain.reorganise(1)
    for (let failures = 0; failures < 12; failures++) {
      engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
      engine.chain.mine()
      await engine.rounds(1)
    }
    const { body, headers, statusCode } = await engine.engine.app.inject(engine.url)
    expect([statusCode, headers['x-engine-error'], headers['retry-after']]).toEqual([503, 'reconciling', '300'])
    expect(body).toMatch(/state change hook, which has to run first, fails \(component-trap\)/)
    const { contracts } = (await engine.engine.app.inject('/engine')).json<{ contracts: object[] }>()
    expect(contracts[0]).toMatchObject({
      state: 'reconciling',
      state_change: 'pending',
      state_change_problem: { why: 'component-trap', attempts: 12 },
    })
    expect([events(engine, 'reconciling_fails').length, events(engine, 'state_change_dead')]).toEqual([1, []])
    world.fails = false
    engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
    await engine.rounds()
    expect([await ask(engine), await stateOf(engine)]).toEqual(['1', 'served'])
  })

  it('keeps in the history why the hook fails, whatever timers wait', async () => {
    const { world, script } = counting()
    const key = 'k'.repeat(64)
    const engine = await postedTo(script, { settings: { integrations: { authentication: { [key]: 'console' } } } })
    world.fails = true
    engine.chain.reorganise(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 2000)
    for (let rounds = 0; rounds < 60; rounds++) {
      await engine.rounds(1)
      engine.clock.now = new Date(engine.clock.now.getTime() + 250)
    }
    const url = `/engine/contracts/${CONTRACT}`
    const { calls } = (await engine.engine.app.inject({ url, headers: { authorization: `Bearer ${key}` } })).json<{
      calls: { hook: string; outcome: string; why?: string }[]
    }>()
    expect(calls).toContainEqual(expect.objectContaining({ hook: 'state-change', outcome: 'trap', why: 'not now' }))
    expect(calls.filter(({ hook }) => hook === 'timer')).toEqual([])
    world.fails = false
    engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
    await engine.rounds()
    expect([await ask(engine), world.timers]).toEqual(['1', 1])
  })

  it('has it wait where the hook ran on the lost block, since what stays cannot be read yet', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    const before = world.runs
    const listed = (await engine.chain.listContracts?.(await engine.chain.fetchHead())) ?? []
    engine.chain.reorganise(1)
    engine.chain.listContracts = () => Promise.reject(new ChainError('no list of contracts'))
    await lookOnly(engine)
    expect(await ask(engine)).toEqual(RECONCILING)
    await engine.rounds()
    expect([await ask(engine), world.runs > before]).toEqual([RECONCILING, true])
    engine.chain.listContracts = () => Promise.resolve(listed)
    await engine.rounds()
    await engine.rounds()
    expect(await ask(engine)).toBe('1')
  })

  it('is noticed by an engine that was restarted in between, and once', async () => {
    const { script } = counting()
    const engine = await postedTo(script)
    engine.chain.reorganise(1)
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect([await ask(restarted), events(restarted, 'reconciled').length]).toEqual(['1', 1])
    const again = await closeAfterTest(restarted.restart())
    await again.rounds()
    expect([await ask(again), events(again, 'acted_on_lost_block').length]).toEqual(['1', 0])
  })

  it('has it wait, also after a restart, where only its component knows its engines, which are asked meanwhile', async () => {
    const { world, script } = counting()
    const list = writer()
      .list([ENGINE], (address, to) => to.raw(Buffer.from(address, 'hex')).text(''))
      .done()
    const asked: string[] = []
    const engines: Script['engines'] = (hands) => {
      asked.push('yes')
      hands.set('asked', String(asked.length))
      return Promise.resolve(list)
    }
    const engine = await closeAfterTest(serving({ ...script, engines }, { contract: { engines: undefined } }))
    engine.chain.mine()
    await engine.rounds()
    expect(await ask(engine, 'POST')).toBe('0')
    world.fails = true
    engine.chain.reorganise(1)
    await lookOnly(engine)
    const before = asked.length
    engine.chain.set({ address: CONTRACT })
    await engine.rounds()
    expect([asked.length > before, await ask(engine)]).toEqual([true, RECONCILING])
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect(await ask(restarted)).toEqual(RECONCILING)
    world.fails = false
    engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
    engine.chain.mine()
    await restarted.rounds()
    expect([await ask(restarted), await stateOf(restarted)]).toEqual(['1', 'served'])
  })

  it('keeps nothing of a call that ran meanwhile', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    world.during = async () => {
      world.during = () => Promise.resolve()
      engine.chain.reorganise(1)
      await lookOnly(engine)
    }
    expect(await ask(engine, 'POST')).toEqual(RECONCILING)
    await engine.rounds()
    expect(await ask(engine)).toBe('1')
  })

  it('looks the block up of a call that ran while the contracts were read again', async () => {
    const { script } = counting()
    const engine = await closeAfterTest(serving(script))
    expect(await ask(engine, 'POST')).toBe('0')
    for (let blocks = 0; blocks < 3; blocks++) engine.chain.mine()
    await engine.rounds()
    const listed = (await engine.chain.listContracts?.(await engine.chain.fetchHead())) ?? []
    engine.chain.listContracts = async () => {
      engine.chain.listContracts = () => Promise.resolve(listed)
      expect(await ask(engine, 'POST')).toBe('1')
      return listed
    }
    engine.chain.reorganise(2)
    await lookOnly(engine)
    expect([await ask(engine), events(engine, 'acted_on_lost_block').length]).toEqual([RECONCILING, 1])
    await engine.rounds()
    expect(await ask(engine)).toBe('2')
  })

  it('keeps nobody waiting once the contract names a component without a hook', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    world.fails = true
    engine.chain.reorganise(1)
    await engine.rounds()
    expect(await ask(engine)).toEqual(RECONCILING)
    const { sha256, bytes } = engine.runtime.add('second', { http: script.http as NonNullable<Script['http']> })
    engine.files.set(sha256, bytes)
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
    await engine.rounds()
    expect([await ask(engine), await stateOf(engine)]).toEqual(['1', 'served'])
  })

  it('has it wait for the hook of a component that comes with the same look', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    const { sha256, bytes } = engine.runtime.add('second', script)
    engine.files.set(sha256, bytes)
    engine.chain.reorganise(1)
    await lookOnly(engine)
    const hasBlock = engine.chain.hasBlock.bind(engine.chain)
    engine.chain.hasBlock = async (block) => {
      engine.chain.hasBlock = hasBlock
      engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
      await lookOnly(engine)
      return hasBlock(block)
    }
    await ask(engine)
    const before = world.runs
    await engine.rounds(1)
    expect(await stateOf(engine)).toBe('reconciling')
    await engine.rounds()
    expect([await ask(engine), world.runs]).toEqual(['1', before + 1])
  })

  it('is told of where there is no hook, and keeps nobody waiting', async () => {
    const { script } = counting()
    const engine = await postedTo({ http: script.http as NonNullable<Script['http']> })
    engine.chain.reorganise(1)
    await lookOnly(engine)
    expect([await ask(engine), events(engine, 'acted_on_lost_block').length]).toEqual(['1', 1])
  })

  it('lets new transactions have the nonces that are free again, so that those on their way go on', async () => {
    const script: Script = {
      http: (hands) => {
        hands.transact('aa')
        return Promise.resolve(text('sent'))
      },
    }
    const engine = await closeAfterTest(serving(script))
    engine.chain.mine()
    await engine.rounds()
    for (let times = 0; times < 3; times++) {
      await ask(engine, 'POST')
      await engine.rounds()
      const [last] = engine.chain.submitted.slice(-1)
      if (times < 2) engine.chain.outcomes.set(last?.hash ?? '', 'included')
      engine.chain.mine()
      await engine.rounds()
    }
    engine.chain.reorganise(4)
    engine.chain.nonce = 0
    await engine.rounds()
    for (let times = 0; times < 3; times++) {
      await ask(engine, 'POST')
      await engine.rounds()
    }
    expect(engine.chain.submitted.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 0, 1, 3])
  })
})

describe('a contract that nothing was taken back of', () => {
  it('is served at once after a reorganisation that does not reach to what was done for it', async () => {
    const { script } = counting()
    const engine = await closeAfterTest(serving(script))
    await ask(engine, 'POST')
    for (let blocks = 0; blocks < 3; blocks++) engine.chain.mine()
    await engine.rounds()
    engine.chain.reorganise(2)
    await lookOnly(engine)
    expect([await ask(engine), events(engine, 'acted_on_lost_block')]).toEqual(['1', []])
  })

  it('waits while the chain cannot be asked for its block, and nobody is told that a block was taken back', async () => {
    const { script } = counting()
    const engine = await closeAfterTest(serving(script))
    await ask(engine, 'POST')
    engine.chain.mine()
    await engine.rounds()
    engine.chain.reorganise(1)
    await lookOnly(engine)
    engine.chain.isDown = true
    expect(await ask(engine)).toEqual([503, 'stale-chain'])
    engine.chain.isDown = false
    expect(await ask(engine)).toBe('1')
  })

  it('has a timer that waits ask the chain for its block once in a second at most', async () => {
    const { world, script } = counting()
    const engine = await postedTo(script)
    engine.chain.reorganise(1)
    await engine.task('chain')
    engine.clock.now = new Date(engine.clock.now.getTime() + 2000)
    let asked = 0
    engine.chain.hasBlock = () => {
      asked++
      return Promise.reject(new ChainError('the node does not answer'))
    }
    for (let rounds = 0; rounds < 12; rounds++) {
      await engine.task('background')
      await engine.engine.waitUntilIdle()
      engine.clock.now = new Date(engine.clock.now.getTime() + 250)
    }
    expect([asked, world.timers]).toEqual([3, 0])
  })

  it('is served as before by a node of several that lacks the newest blocks', async () => {
    const { script } = counting()
    const engine = await closeAfterTest(serving(script))
    const old = await engine.chain.fetchHead()
    engine.chain.mine()
    await engine.rounds()
    await ask(engine, 'POST')
    engine.chain.fetchHead = () => Promise.resolve(old)
    engine.chain.hasBlock = ({ number }) => Promise.resolve(number <= old.number)
    await lookOnly(engine)
    expect([await ask(engine), events(engine, 'reorganised')]).toEqual(['1', []])
  })
})

describe('a node that does not keep old blocks', () => {
  it('serves a contract that has been quiet for longer than that, also after a restart', async () => {
    const engine = await postedTo(counting().script)
    for (let blocks = 0; blocks < 1100; blocks += 1) engine.chain.mine()
    await engine.rounds()
    const hasBlock = engine.chain.hasBlock.bind(engine.chain)
    engine.chain.hasBlock = (block) =>
      block.number > 500 ? hasBlock(block) : Promise.reject(new ChainError('pruned history', { kind: 'failed' }))
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect(await ask(restarted)).toBe('1')
    expect(events(restarted, 'acted_on_lost_block')).toEqual([])
  })
})

describe('a commit that is under way when the look that saw a reorganisation ends', () => {
  it('makes the contract be looked up again, although another call looked it up meanwhile', async () => {
    const store = await openTestStore<EngineCollections>(engineMigrations)
    const gate: { reached?: () => void; opened?: Promise<void> } = {}
    const commit: typeof store.commit = async (changes) => {
      gate.reached?.()
      await gate.opened
      return store.commit(changes)
    }
    const engine = await postedTo(counting().script, { store: { ...store, commit } })
    for (let blocks = 0; blocks < 3; blocks += 1) engine.chain.mine()
    await engine.rounds()
    let open: () => void = () => undefined
    let posted: Promise<unknown> | undefined
    const listContracts = engine.chain.listContracts?.bind(engine.chain) ?? (() => Promise.resolve([]))
    engine.chain.listContracts = async (block) => {
      engine.chain.listContracts = listContracts
      const reached = new Promise<void>((resolve) => {
        gate.reached = resolve
      })
      gate.opened = new Promise((resolve) => {
        open = resolve
      })
      posted = ask(engine, 'POST')
      await reached
      return listContracts(block)
    }
    engine.chain.reorganise(2)
    await lookOnly(engine)
    expect(await ask(engine)).toBe('1')
    open()
    expect(await posted).toBe('1')
    expect(await ask(engine)).toEqual(RECONCILING)
  })
})
