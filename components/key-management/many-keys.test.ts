/**
 * Tests that a change of one key costs an engine that knows very many no more: questions to the contract are counted.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { toHex } from '../bytes.ts'
import { localChain } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { bytes, type DeployedContract, deploy, type JsonRpc, party } from '../test/evm.ts'
import { inProcess } from '../test/in-process.ts'
import { deployRepeater, type Repeater } from '../test/repeater.ts'
import { MANY } from '../test/scale.ts'
import { http } from './signing.ts'
import { stateChange } from './state-change.ts'

const run = inProcess({ http, stateChange, timers: { 1: (_, context) => stateChange(context) } })
const engines = [party(), party(), party()] as const
const owner = party()
const policy = { signers: [owner.address], notAfter: 0n, sharesPerDay: 0n, prefix: new Uint8Array() }
/** The most keys that the gas of a block is enough for. */
const AT_ONCE = 60

describe('very many keys', () => {
  let rpc: JsonRpc
  let contract: DeployedContract
  let repeater: Repeater
  let engine: Device
  let reads = 0
  let next = 1

  const create = async (count: number, disables: boolean): Promise<void> => {
    const ids = { first: next, end: next + count }
    next += count
    await repeater.repeat(
      contract,
      contract.encode('createKey', { id: 0n, threshold: 2, policy_: policy }),
      ids,
      AT_ONCE,
    )
    if (disables) await repeater.repeat(contract, contract.encode('disable', 0n), ids, AT_ONCE)
  }
  const counted = async (work: () => Promise<void>): Promise<number> => {
    reads = 0
    await work()
    return reads
  }

  beforeAll(async () => {
    ;({ rpc } = await localChain.start())
    const list = engines.map(({ address }) => ({ engine: address, endpoint: '' }))
    const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
    contract = await deploy(rpc, 'KeyManagement', made)
    const askRaw = (data: Uint8Array): Promise<Uint8Array> => {
      reads++
      return contract.askRaw(data)
    }
    engine = device(run, { ...contract, askRaw }, engines[0])
    repeater = await deployRepeater(rpc)
    await create(MANY, true)
  }, 600_000)

  it('are forgotten 125 at a time, within what a run may change, by an engine that has seen none, and not again', async () => {
    const all = await counted(async () => {
      do {
        engine.timers.delete(1)
        await engine.stateChange()
      } while (engine.timers.has(1))
    })
    // Changes that later ones are about are passed over, 256 at a time; the last run finds nothing left to forget.
    expect(all).toBeLessThanOrEqual(Math.ceil(MANY / 256) + Math.ceil(MANY / 125) + 1)
    expect(engine.failed).toEqual([])
    expect(await counted(engine.stateChange)).toBe(1)
    expect(engine.sent).toEqual([])
  }, 600_000)

  it('cost nothing when another is made', async () => {
    const id = 1_000_000n
    await contract.send(owner, 'createKey', { id, threshold: 2, policy_: policy })
    // The change, the engines, and what they have published.
    expect(await counted(engine.stateChange)).toBe(3)
    expect(toHex(engine.sent[0] ?? bytes(''))).toMatch(/^421792ed/)
    expect(await counted(engine.stateChange)).toBe(1)
    engine.ahead += 61_000
    // The steps that were sent a minute ago are there.
    expect(await counted(() => engine.timer(1))).toBe(2)
    expect(engine.sent).toHaveLength(1)
  }, 600_000)

  it('that wait to be made cost a run of the hook no more than what it does', async () => {
    const waiting = Math.max(MANY / 10, 300)
    await create(waiting, false)
    // The first runs look for keys to forget, among 256 changes each.
    for (let looked = 256; looked < waiting; looked += 256) expect(await counted(engine.stateChange)).toBe(1)
    // The last asks for the changes from both positions, the engines, and what is published of one key.
    expect(await counted(() => engine.timer(1))).toBe(4)
    expect(engine.sent).toHaveLength(2)
    expect(engine.timers.get(1)).toBe(0)
  }, 600_000)
})
