import { expect, it } from 'vitest'
import { CONTRACT, ENGINE, startEngine, type TestEngine, text } from '../../test/support/engine.ts'
import { closedAfterwards } from '../../test/support/engine-calls.ts'
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
