/** The component of the walk in the documentation, in the sandbox. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chains } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, party } from '../test/evm.ts'
import { inRuntime, scriptOf } from '../test/in-runtime.ts'

describe.each(chains)('the hello component on $name', ({ start }) => {
  const stops: (() => Promise<void>)[] = []
  let contract: DeployedContract
  let one: Device
  beforeAll(async () => {
    const chain = await start()
    const { run, stop } = await inRuntime(await scriptOf('hello'))
    stops.push(chain.stop, stop)
    const engine = party()
    const engines = [{ engine: engine.address, endpoint: '' }]
    const made = { engines, componentSha256: new Uint8Array(32), componentUri: '' }
    contract = await deploy(chain.rpc, 'Hello', made)
    one = device(run, contract, engine)
  })
  afterAll(() => Promise.all(stops.map((stop) => stop())))

  it('counts', async () => {
    for (const count of [1, 2, 3]) {
      expect(await one.http('POST', '/count')).toMatchObject({ status: 200, text: `{"count":${count}}` })
    }
  })

  it('answers what it was sent, with what the contract says', async () => {
    const echo = () => one.http('POST', '/echo', { body: '{"a":[1]}' })
    expect((await echo()).text).toBe('{"greeting":"Hello","echoed":{"a":[1]}}')
    await contract.send(party(), 'setGreeting', 'Grüß Gott')
    expect((await echo()).text).toBe('{"greeting":"Grüß Gott","echoed":{"a":[1]}}')
    await one.stateChange()
  })

  it('refuses what it has no answer to', async () => {
    expect(await one.http('GET', '/count')).toMatchObject({ status: 405 })
    expect(await one.http('POST', '/other')).toMatchObject({ status: 404 })
    expect(await one.http('POST', '/echo', { body: '{' })).toMatchObject({ status: 400 })
    const long = contract.send(party(), 'setGreeting', 'x'.repeat(201))
    await expect(long).rejects.toThrow('a greeting has 200 bytes at most')
  })
})
