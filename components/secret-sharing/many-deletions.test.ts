/** Tests the cost of very many deletions for an engine: questions to the contract, and transactions, are counted. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { localChain } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, party, submit } from '../test/evm.ts'
import { inProcess } from '../test/in-process.ts'
import { deployRepeater, type Repeater } from '../test/repeater.ts'
import { MANY } from '../test/scale.ts'
import { DELETION_TIMER, deleteShares } from './deletions.ts'
import { http, stateChange } from './shares.ts'

const run = inProcess({ http, stateChange, timers: { [DELETION_TIMER]: (_, context) => deleteShares(context) } })
const AT_ONCE = 32
/** The most sharings that the gas of a block is enough for. */
const OF_A_BLOCK = 128
const engine = party()

describe('very many deletions', () => {
  let contract: DeployedContract
  let owner: Repeater
  let one: Device
  let reads = 0

  /**
   * Registers sharings with ids from `first`, says of each in the name of the engine that it holds its share, and asks
   * for their deletion.
   */
  const askToDelete = async (first: number, count: number): Promise<void> => {
    const commitments = [new Uint8Array(createHash('sha256').update('share').digest())]
    const ids = { first, end: first + count }
    const register = contract.encode('registerSharing', { id: 0n, threshold: 1, commitments })
    await owner.repeat(contract, register, ids, OF_A_BLOCK)
    for (let id = first; id < ids.end; id += OF_A_BLOCK) {
      const tickets: bigint[] = []
      for (let of = id; of < Math.min(ids.end, id + OF_A_BLOCK); of++) tickets.push(await ticketOf(of))
      await submit(contract.rpc, engine, contract.address, contract.encode('registerAllShared', tickets))
    }
    await owner.repeat(contract, contract.encode('deleteSharing', 0n), ids, OF_A_BLOCK)
  }
  const ticketOf = async (id: number): Promise<bigint> => {
    const share = await contract.ask('share', { id: BigInt(id), engine: engine.address })
    return (share as { ticket: bigint }).ticket
  }
  const left = async (): Promise<number> => {
    const range = { engine: engine.address, from: 0n, most: 1000n }
    return ((await contract.ask('toDelete', range)) as { tickets: bigint[] }).tickets.length
  }

  beforeAll(async () => {
    const { rpc } = await localChain.start()
    const list = [{ engine: engine.address, endpoint: '' }]
    contract = await deploy(rpc, 'SecretSharing', {
      engines: list,
      componentSha256: new Uint8Array(32),
      componentUri: '',
    })
    const askRaw = (data: Uint8Array): Promise<Uint8Array> => {
      reads++
      return contract.askRaw(data)
    }
    owner = await deployRepeater(rpc)
    one = device(run, { ...contract, askRaw }, engine)
    await askToDelete(1, MANY)
  }, 600_000)

  it('are done 32 at a time, before the contract has heard of the first, and told once', async () => {
    // The contract tells at most a thousand at once.
    expect(await left()).toBe(Math.min(MANY, 1000))
    one.offline = true
    await one.stateChange()
    while (one.timers.get(DELETION_TIMER) === 0) await one.timer(DELETION_TIMER)
    const runs = Math.ceil(MANY / AT_ONCE)
    expect([reads, one.sent.length]).toEqual([runs, runs])
    for (let events = 0; events < 10; events++) await one.stateChange()
    expect([reads, one.sent.length]).toEqual([runs + 10, runs])
    one.offline = false
    for (const payload of one.sent) await contract.sendRaw(engine, payload)
    expect(await left()).toBe(0)
    one.ahead += 61_000
    await one.timer(DELETION_TIMER)
    expect([one.sent.length, one.failed]).toEqual([runs, []])
  }, 600_000)

  it('cost nothing when another is asked for', async () => {
    await askToDelete(MANY + 1, 1)
    reads = 0
    await one.stateChange()
    expect(reads).toBe(1)
    expect(await left()).toBe(0)
  })
})
