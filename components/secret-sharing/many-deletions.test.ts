/** Tests the cost of very many deletions for an engine: questions to the contract, and transactions, are counted. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { localChain } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, party, submit } from '../test/evm.ts'
import { inProcess } from '../test/in-process.ts'
import { DELETION_TIMER, deleteShares } from './deletions.ts'
import { http, stateChange } from './shares.ts'

const run = inProcess({ http, stateChange, timers: { [DELETION_TIMER]: (_, context) => deleteShares(context) } })
const [AT_ONCE, COUNT] = [64, 1000]
const engine = party()
const owner = party()

describe('a thousand deletions', () => {
  let contract: DeployedContract
  let one: Device
  let reads = 0

  /** Asked for by one owner; the engine has said of each that it holds its share. */
  const deleting = async (from: number, count: number): Promise<void> => {
    const { rpc, address } = contract
    const commitments = [new Uint8Array(createHash('sha256').update('share').digest())]
    const ids = Array.from({ length: count }, (_, at) => BigInt(from + at))
    const send = (as: typeof owner, data: string) => submit(rpc, as, address, data)
    for (const id of ids) await send(owner, contract.encode('registerSharing', { id, threshold: 1, commitments }))
    for (const id of ids) await send(engine, contract.encode('registerShared', id))
    for (const id of ids) await send(owner, contract.encode('deleteSharing', id))
  }
  const left = async (): Promise<number> => {
    const asked = { engine: engine.address, from: 0n, most: BigInt(COUNT) }
    return ((await contract.ask('toDelete', asked)) as { tickets: bigint[] }).tickets.length
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
    one = device(run, { ...contract, askRaw }, engine)
    await deleting(1, COUNT)
  }, 600_000)

  it('are done 64 at a time, before the contract has heard of the first, and told once', async () => {
    one.offline = true
    await one.stateChange()
    while (one.timers.get(DELETION_TIMER) === 0) await one.timer(DELETION_TIMER)
    const runs = Math.ceil(COUNT / AT_ONCE)
    expect([reads, one.sent.length]).toEqual([runs, runs])
    for (let events = 0; events < 10; events++) await one.stateChange()
    expect([reads, one.sent.length]).toEqual([runs + 10, runs])
    one.offline = false
    for (const payload of one.sent) await contract.sendRaw(engine, payload)
    expect(await left()).toBe(0)
    one.ahead += 61_000
    await one.timer(DELETION_TIMER)
    expect([one.sent.length, one.failed]).toEqual([runs, []])
  }, 300_000)

  it('cost nothing when another is asked for', async () => {
    await deleting(COUNT + 1, 1)
    reads = 0
    await one.stateChange()
    expect(reads).toBe(1)
    expect(await left()).toBe(0)
  })
})
