import { describe, expect, it } from 'vitest'
import {
  CONTRACT,
  ENGINE,
  type Hands,
  type Script,
  startEngine,
  type TestEngine,
  text,
} from '../../test/support/engine.ts'
import { closedAfterwards, started } from '../../test/support/engine-calls.ts'
import { openTestStore } from '../../test/support/store.ts'
import { ChainError } from '../chain/chain.ts'
import { type RunOutcome, SilenceError } from '../component/runtime.ts'
import { writer } from '../offchain/rpc.ts'
import { END_OF_TIME } from '../store/store.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

let reads = 0
/** Asks the contract what was not asked before, since answers are remembered. */
const readsContract = ({ host }: Hands): Promise<unknown> => host.readContract(Buffer.from(String(reads++)))
const loads = (hands: Hands): Promise<unknown> => hands.get('a')

/** Opens a store whose values of components cannot be read while `isDown`. */
async function fragileStore() {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  const state = { isDown: false }
  const get: typeof store.get = (collection, id) =>
    state.isDown && collection === 'component_storage'
      ? Promise.reject(new Error('the database does not answer'))
      : store.get(collection, id)
  return { state, store: { ...store, get } }
}

const pass = async (engine: TestEngine, seconds: number): Promise<void> => {
  engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
  await engine.task('background')
  await engine.engine.waitUntilIdle()
}
const ask = async ({ engine, url }: TestEngine) => {
  const { statusCode, headers } = await engine.app.inject({ url })
  return [statusCode, headers['x-engine-error'], headers['retry-after']]
}
const countCalls = async ({ engine }: TestEngine): Promise<string[]> =>
  (await engine.metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('vouchsafe_engine_calls_total'))
const describeHook = async ({ engine }: TestEngine) =>
  (await engine.app.inject('/engine')).json<{ contracts: object[] }>().contracts[0]
const timerVersions = async ({ store }: TestEngine): Promise<number[]> =>
  (await store.listDue('timer', END_OF_TIME, 10)).map(({ version }) => version)
/** More attempts than a hook or a timer has. */
const ATTEMPTS = 20

/** Starts an engine whose component asks `work` of it in every hook, and an outage of what it asks. */
async function withOutage(what: 'chain' | 'database') {
  const { state, store } = await fragileStore()
  const work = what === 'chain' ? readsContract : loads
  const done = { timers: 0, hooks: 0 }
  const engine = await started(
    {
      http: async (hands) => {
        if (hands.call.hook.kind === 'http' && hands.call.hook.request.method === 'POST') hands.timer(1, 0)
        else await work(hands)
        return text('yes')
      },
      timer: async (hands) => {
        await work(hands)
        done.timers++
      },
      stateChange: async (hands) => {
        await work(hands)
        done.hooks++
      },
    },
    { store },
  )
  const setDown = (isDown: boolean): void => {
    if (what === 'chain') engine.chain.isDown = isDown
    else state.isDown = isDown
  }
  return { engine, done, setDown }
}

describe.each(['chain', 'database'] as const)('an outage of the %s in the middle of a call', (what) => {
  it('counts as no failure of a timer, which runs when it is over', async () => {
    const { engine, done, setDown } = await withOutage(what)
    await engine.engine.app.inject({ method: 'POST', url: engine.url })
    setDown(true)
    for (let attempts = 0; attempts < ATTEMPTS; attempts++) await pass(engine, 300)
    expect(done.timers).toBe(0)
    expect(await timerVersions(engine)).toEqual([0])
    const { runs } = engine.runtime
    await pass(engine, 0.5)
    expect(engine.runtime.runs).toBe(runs)
    setDown(false)
    await pass(engine, 14.5)
    expect(done.timers).toBe(1)
  })

  it('counts as no failure of a state change hook, which says why it waits', async () => {
    const { engine, done, setDown } = await withOutage(what)
    engine.chain.mine([CONTRACT])
    await engine.task('chain')
    setDown(true)
    for (let attempts = 0; attempts < ATTEMPTS; attempts++) await pass(engine, 300)
    expect(done.hooks).toBe(1)
    expect(await describeHook(engine)).toMatchObject({
      state_change: 'pending',
      state_change_problem: {
        why: what === 'chain' ? 'stale-chain' : 'server-error',
        attempts: 0,
        again: new Date(engine.clock.now.getTime() + 15_000).toISOString(),
      },
    })
    setDown(false)
    await pass(engine, 15)
    expect(done.hooks).toBe(2)
    expect(await describeHook(engine)).toMatchObject({ state_change: 'done' })
  })

  it('has timers and hooks wait longer and longer, and no longer after a change of the contract', async () => {
    const { engine, done, setDown } = await withOutage(what)
    await engine.engine.app.inject({ method: 'POST', url: engine.url })
    engine.chain.mine([CONTRACT])
    await engine.task('chain')
    setDown(true)
    const runs: number[] = []
    for (let seconds = 0; seconds < 60; seconds++) {
      const before = engine.runtime.runs
      await pass(engine, 1)
      if (engine.runtime.runs > before) runs.push(seconds)
    }
    expect(runs).toEqual([0, 1, 3, 7, 15, 30, 45])
    setDown(false)
    engine.chain.mine([CONTRACT])
    await engine.task('chain')
    await pass(engine, 0)
    expect(done).toEqual({ timers: 0, hooks: 2 })
    await pass(engine, 1)
    expect(done.timers).toBe(1)
  })

  it('is what a client is told of, and no trap of the component', async () => {
    const { engine, setDown } = await withOutage(what)
    setDown(true)
    expect(await ask(engine)).toEqual(what === 'chain' ? [503, 'stale-chain', '5'] : [500, 'server-error', undefined])
    expect(await countCalls(engine)).toContain('vouchsafe_engine_calls_total{hook="http",outcome="outage"} 1')
    const lines = engine.logLines.map((line) => JSON.parse(line) as { readonly event: string })
    expect(lines.filter(({ event }) => ['chain_not_read', 'request_failed'].includes(event))).toMatchObject([
      what === 'chain'
        ? { event: 'chain_not_read', hook: 'http', why: 'the node does not answer' }
        : { event: 'request_failed', err: { message: 'the database does not answer' } },
    ])
    setDown(false)
    expect(await ask(engine)).toEqual([200, undefined, undefined])
  })
})

it('takes a contract that refuses a read for a failure of the component', async () => {
  const engine = await started({ http: async (hands) => text(String(await readsContract(hands))) })
  engine.chain.read = () => Promise.reject(new ChainError('the contract refuses: no', { kind: 'refused' }))
  expect(await ask(engine)).toEqual([500, 'component-trap', undefined])
})

it.each([
  ['readContract', [503, 'stale-chain', '5']],
  ['load', [500, 'server-error', undefined]],
] as const)('tells a client what was silent until the deadline: %s', async (operation, answer) => {
  const engine = await started({ http: () => Promise.resolve(text('yes')) })
  engine.runtime.run = () => Promise.resolve({ kind: 'outage', error: new SilenceError(operation), log: [] })
  expect(await ask(engine)).toEqual(answer)
})

it('serves a contract on whose component could not be asked for its engines', async () => {
  const engine = closedAfterwards(await startEngine())
  const list = writer()
    .list([ENGINE], (address, to) => to.raw(Buffer.from(address, 'hex')).text(''))
    .done()
  const { sha256, bytes } = engine.runtime.add('first', {
    http: () => Promise.resolve(text('yes')),
    engines: (hands) => readsContract(hands).then(() => list),
  })
  engine.files.set(sha256, bytes)
  engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' }, engines: undefined })
  await engine.rounds()
  engine.chain.set({ address: CONTRACT })
  await engine.task('chain')
  engine.chain.isDown = true
  await pass(engine, 0)
  const { runs } = engine.runtime
  await pass(engine, 0.5)
  expect(engine.runtime.runs).toBe(runs)
  expect(await ask(engine)).toEqual([200, undefined, undefined])
  engine.chain.isDown = false
  await pass(engine, 1)
  expect(engine.runtime.runs).toBe(runs + 2)
  await pass(engine, 60)
  expect(engine.runtime.runs).toBe(runs + 2)
})

it('counts a commit that the database does not take as no failure of the state change hook', async () => {
  const store = await openTestStore<EngineCollections>(engineMigrations)
  let isDown = false
  const commit: typeof store.commit = (changes) =>
    isDown ? Promise.reject(new Error('the connection broke')) : store.commit(changes)
  const script: Script = {
    stateChange: (hands) => {
      hands.set('a', 'b')
      return Promise.resolve()
    },
  }
  const engine = await started(script, { store: { ...store, commit } })
  engine.chain.mine([CONTRACT])
  await engine.task('chain')
  isDown = true
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) await pass(engine, 300)
  expect(await describeHook(engine)).toMatchObject({ state_change: 'pending' })
  isDown = false
  await pass(engine, 15)
  expect(await describeHook(engine)).toMatchObject({ state_change: 'done' })
})

it('counts the stop of the engine as no failure of the timer that it ends', async () => {
  const outcome: RunOutcome = { kind: 'stopped' }
  const engine = await started({
    http: (hands) => {
      hands.timer(1, 0)
      return Promise.resolve({})
    },
    timer: () => Promise.resolve(),
  })
  await engine.engine.app.inject({ method: 'POST', url: engine.url })
  engine.runtime.run = () => Promise.resolve(outcome)
  await pass(engine, 0)
  expect(await timerVersions(engine)).toEqual([0])
  expect(engine.logLines.filter((line) => line.includes('background_failed'))).toEqual([])
  expect(await ask(engine)).toEqual([503, 'starting', '1'])
})
