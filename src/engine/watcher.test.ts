import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import {
  CONTRACT,
  ENGINE,
  type Script,
  serving,
  startEngine,
  type TestEngine,
  text,
} from '../../test/support/engine.ts'
import type { HttpClientRequest } from '../http/outbound.ts'

const open: TestEngine[] = []
afterEach(async () => {
  for (const { engine } of open.splice(0)) await engine.app.close()
})
const kept = async (made: Promise<TestEngine>): Promise<TestEngine> => {
  const engine = await made
  open.push(engine)
  return engine
}
const answer = async ({ engine, url }: TestEngine, at = url) => {
  const { statusCode, headers, body } = await engine.app.inject(at)
  return statusCode === 200 ? body : headers['x-engine-error']
}
const contractsOf = async ({ engine }: TestEngine) =>
  (await engine.app.inject('/engine')).json<{ contracts: { state_change: string }[] }>().contracts
const saying = (words: string): Script => ({ http: () => Promise.resolve(text(words)) })
const later = (engine: TestEngine, seconds: number): void => {
  engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
}

describe('the contracts of a chain', () => {
  it('are served as they come, change their component, and go', async () => {
    const engine = await kept(startEngine())
    await engine.rounds()
    expect(await answer(engine)).toBe('unknown-contract')
    const [one, two] = [engine.runtime.add('one', saying('one')), engine.runtime.add('two', saying('two'))]
    for (const { sha256, bytes } of [one, two]) engine.files.set(sha256, bytes)
    engine.chain.set({ address: CONTRACT, component: { sha256: one.sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('one')
    engine.chain.set({ address: CONTRACT, component: { sha256: two.sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('two')
    engine.chain.set({ address: CONTRACT, engines: [] })
    await engine.rounds()
    expect(await answer(engine)).toBe('not-this-engine')
    engine.chain.set({ address: CONTRACT, engines: [{ address: ENGINE, endpoint: '' }] })
    await engine.rounds()
    expect(await answer(engine)).toBe('two')
    engine.chain.remove(CONTRACT)
    await engine.rounds()
    expect(await answer(engine)).toBe('unknown-contract')
  })

  it('are only those of the filter', async () => {
    const other = `00${'d2'.repeat(20)}`
    const engine = await kept(serving(saying('yes'), { settings: { contractFilter: [`0x${'c1'.repeat(20)}`] } }))
    engine.chain.set({ address: other, component: { sha256: [...engine.files.keys()][0] ?? '', uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('yes')
    expect(await answer(engine, `/offchain/${other}`)).toBe('unknown-contract')
  })

  it('may leave it to the operator which component is theirs', async () => {
    const engine = await kept(startEngine())
    const { sha256, bytes } = engine.runtime.add('named', saying('named'))
    engine.files.set(sha256, bytes)
    const named = await kept(
      startEngine({ from: engine, settings: { components: { [CONTRACT]: sha256.toUpperCase() } } }),
    )
    engine.chain.set({ address: CONTRACT })
    await engine.rounds()
    await named.rounds()
    expect([await answer(engine), await answer(named)]).toEqual(['unknown-contract', 'named'])
  })

  it('are answered at the block of the last look, which the answer names', async () => {
    const engine = await kept(serving(saying('x')))
    engine.chain.mine()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('1')
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })
})

describe('the component of a contract', () => {
  it('must have the bytes that its hash says, and is a visible failure otherwise', async () => {
    const engine = await kept(startEngine())
    const { sha256 } = engine.runtime.add('right', saying('right'))
    engine.files.set(sha256, Buffer.from('wrong'))
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('component-unavailable')
    const contracts = await contractsOf(engine)
    expect(contracts[0]).toMatchObject({ state: 'failed' })
    expect(JSON.stringify(contracts)).toContain('other bytes')
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_contracts{state="failed"} 1')
    expect(engine.logLines.filter((line) => line.includes('component_unavailable'))).toHaveLength(1)
    engine.files.set(sha256, Buffer.from('right'))
    later(engine, 5)
    await engine.rounds()
    expect(await answer(engine)).toBe('right')
  })

  it('must be one that can be run', async () => {
    const engine = await kept(startEngine())
    const bytes = Buffer.from('nonsense')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    engine.files.set(sha256, bytes)
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('component-unavailable')
  })

  it('is fetched from where its contract says, if the operator allows that host, and kept', async () => {
    const asked: HttpClientRequest[] = []
    let body = Buffer.from('forged')
    const outbound = (request: HttpClientRequest) => {
      asked.push(request)
      return Promise.resolve({ status: 200, headers: {}, body })
    }
    const settings = { outbound: { allow: ['files.example'] } }
    const engine = await kept(startEngine({ outbound, settings }))
    const { sha256 } = engine.runtime.add('fetched', saying('fetched'))
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: 'https://elsewhere.example/c' } })
    await engine.rounds()
    expect([await answer(engine), asked.length]).toEqual(['component-unavailable', 0])
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: 'https://files.example/c' } })
    await engine.rounds(1)
    expect([await answer(engine), asked.length, engine.files.size]).toEqual(['component-unavailable', 1, 0])
    expect(asked[0]).toMatchObject({ allowPrivateAddresses: false, maxBytes: 8 * 1024 * 1024 })
    body = Buffer.from('fetched')
    later(engine, 5)
    await engine.rounds()
    expect([await answer(engine), engine.files.has(sha256)]).toEqual(['fetched', true])
  })
})

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
    const engine = await kept(serving(script))
    expect(seen).toEqual([1])
    engine.chain.mine()
    await engine.rounds()
    expect(seen).toEqual([1])
    for (let changes = 0; changes < 5; changes++) engine.chain.mine([CONTRACT])
    await engine.rounds()
    expect(seen).toEqual([1, 7])
    const restarted = await kept(engine.restart())
    await restarted.rounds()
    expect(seen).toEqual([1, 7, 7])
  })

  it('is tried again, less and less often, and given up until the contract changes', async () => {
    const { seen, script, fail } = counting()
    fail(true)
    const engine = await kept(serving(script))
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

  it('runs again, and everything is read anew, when the chain takes back a block', async () => {
    const { seen, script } = counting()
    const engine = await kept(serving({ ...script, ...saying('x') }))
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
    const engine = await kept(serving({ ...script, ...saying('x') }))
    const old = await engine.chain.fetchHead()
    engine.chain.mine([CONTRACT])
    await engine.rounds()
    engine.chain.fetchHead = () => Promise.resolve(old)
    await engine.rounds()
    expect(seen).toEqual([1, 2])
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })

  it('changes nothing of what is served when a look fails', async () => {
    const engine = await kept(serving(saying('still')))
    const changed = engine.chain.listChanged.bind(engine.chain)
    engine.chain.listChanged = () => Promise.reject(new Error('not now'))
    engine.chain.mine([CONTRACT])
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('1')
    engine.chain.listChanged = changed
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })
})
