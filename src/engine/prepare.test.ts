import { expect, it } from 'vitest'
import { CONTRACT, ENGINE, startEngine, type TestEngine, text } from '../../test/support/engine.ts'
import { closedAfterwards } from '../../test/support/engine-calls.ts'
import { ComponentError } from '../component/runtime.ts'
import { writer } from '../offchain/rpc.ts'

const listOf = (...engines: readonly string[]): Uint8Array =>
  writer()
    .list(engines, (address, to) => to.raw(Buffer.from(address, 'hex')).text(''))
    .done()

interface World {
  list: Uint8Array | 'overloaded'
  asked: number
}

/** Starts an engine with a contract that leaves it to its component to say which engines it has. */
async function withEngines(world: World): Promise<TestEngine> {
  const engine = closedAfterwards(await startEngine())
  const { sha256, bytes } = engine.runtime.add('first', {
    http: () => Promise.resolve(text('yes')),
    engines: () => {
      world.asked++
      return Promise.resolve(world.list)
    },
  })
  engine.files.set(sha256, bytes)
  engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' }, engines: undefined })
  await engine.rounds()
  return engine
}

const statusOf = async ({ engine }: TestEngine) =>
  (await engine.app.inject('/engine')).json<{ contracts: object[] }>().contracts[0]

it('serves a contract whose component lists this engine, and no other', async () => {
  const world: World = { list: listOf(ENGINE), asked: 0 }
  const engine = await withEngines(world)
  expect(await statusOf(engine)).toMatchObject({ state: 'served' })
  world.list = listOf()
  engine.chain.set({ address: CONTRACT })
  await engine.rounds()
  expect(await statusOf(engine)).toMatchObject({ state: 'not-this-engine' })
})

it('pauses after a list of engines that cannot be read, and says why', async () => {
  const world: World = { list: listOf(ENGINE).subarray(0, 12), asked: 0 }
  const engine = await withEngines(world)
  expect(await statusOf(engine)).toMatchObject({
    state: 'failed',
    why: 'the list of engines that its component returns cannot be read: it ends 13 bytes too early',
  })
  const { headers } = await engine.engine.app.inject(engine.url)
  expect(headers['x-engine-error']).toBe('component-unavailable')
  const { asked } = world
  await engine.rounds()
  expect(world.asked).toBe(asked)
  expect(engine.logLines.filter((line) => line.includes('"background_failed"'))).toEqual([])
  world.list = listOf(ENGINE)
  engine.clock.now = new Date(engine.clock.now.getTime() + 300_000)
  engine.chain.mine()
  await engine.rounds()
  expect(await statusOf(engine)).toMatchObject({ state: 'served' })
})

it('serves a contract on while no worker is free to list its engines, and asks again', async () => {
  const world: World = { list: listOf(ENGINE), asked: 0 }
  const engine = await withEngines(world)
  world.list = 'overloaded'
  engine.chain.set({ address: CONTRACT })
  await engine.rounds()
  expect(await statusOf(engine)).toMatchObject({ state: 'served' })
  const { asked } = world
  await engine.rounds()
  expect(world.asked).toBe(asked)
  world.list = listOf()
  engine.clock.now = new Date(engine.clock.now.getTime() + 10_000)
  engine.chain.mine()
  await engine.rounds()
  expect(await statusOf(engine)).toMatchObject({ state: 'not-this-engine' })
})

it('writes some of the hooks of a component to the log and to its details, however many there are', async () => {
  const engine = closedAfterwards(
    await startEngine({ settings: { integrations: { authentication: { key: 'console' } } } }),
  )
  const hooks = Array.from({ length: 4000 }, (_, at) => `off_chain_thread_${at.toString(16)}`)
  const { sha256, bytes } = engine.runtime.add('many timers', {})
  engine.files.set(sha256, bytes)
  engine.runtime.describe = () => Promise.resolve({ kind: 'javascript', hooks })
  engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
  await engine.rounds()
  const lines = engine.logLines.filter((line) => line.includes('"component_ready"'))
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { hooks: hooks.slice(0, 20), hookCount: 4000 },
  ])
  const headers = { authorization: 'Bearer key' }
  const details = await engine.engine.app.inject({ url: `/engine/contracts/${CONTRACT}`, headers })
  expect(details.json()).toMatchObject({ state: 'served', hooks: hooks.slice(0, 20) })
})

/** Serves the component `old`, and has the contract name `new` while the first is being looked at, as `look` says. */
async function changedMeanwhile(look: () => Promise<void>): Promise<TestEngine> {
  const engine = closedAfterwards(await startEngine())
  const componentOf = (name: string) => {
    const { sha256, bytes } = engine.runtime.add(name, { http: () => Promise.resolve(text(name)) })
    engine.files.set(sha256, bytes)
    return { sha256, uri: '' }
  }
  engine.chain.set({ address: CONTRACT, component: componentOf('old') })
  const describeComponent = engine.runtime.describe.bind(engine.runtime)
  engine.runtime.describe = async (component) => {
    engine.runtime.describe = describeComponent
    engine.chain.set({ address: CONTRACT, component: componentOf('new') })
    await engine.task('chain')
    await look()
    return describeComponent(component)
  }
  await engine.rounds()
  return engine
}

it.each([
  ['could be used', () => Promise.resolve()],
  ['could not be used', () => Promise.reject(new ComponentError('it is not a component'))],
])('serves the component that a contract names since, where the one before %s', async (_, look) => {
  const engine = await changedMeanwhile(look)
  expect((await engine.engine.app.inject(engine.url)).body).toBe('new')
})

it('looks at no component of a contract that lists other engines', async () => {
  const engine = closedAfterwards(await startEngine())
  const { sha256, bytes } = engine.runtime.add('first', {})
  engine.files.set(sha256, bytes)
  let looks = 0
  engine.runtime.describe = () => Promise.reject(new Error(`look ${++looks}`))
  const engines = [{ address: `00${'aa'.repeat(20)}`, endpoint: '' }]
  engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' }, engines })
  await engine.rounds()
  expect([looks, await statusOf(engine)]).toMatchObject([0, { state: 'not-this-engine' }])
})

it('pauses for a second after an error that is not the component’s, and then serves it', async () => {
  const engine = closedAfterwards(await startEngine())
  const { sha256, bytes } = engine.runtime.add('first', { http: () => Promise.resolve(text('yes')) })
  engine.files.set(sha256, bytes)
  const describeComponent = engine.runtime.describe.bind(engine.runtime)
  let looks = 0
  engine.runtime.describe = () => Promise.reject(new Error(`look ${++looks}`))
  engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
  await engine.rounds()
  expect(looks).toBe(1)
  engine.runtime.describe = describeComponent
  engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
  await engine.rounds()
  expect((await engine.engine.app.inject(engine.url)).body).toBe('yes')
})
