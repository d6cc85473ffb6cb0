/**
 * Tests that engines keep shares apart when the chain takes back blocks that they had acted on and the id then belongs
 * to a stranger.
 */
import { createHash, randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { hardhatNode } from '../../components/test/chains.ts'
import { type Device, device } from '../../components/test/device.ts'
import { type DeployedContract, deploy, type Party, party } from '../../components/test/evm.ts'
import { inRuntime, scriptOf } from '../../components/test/in-runtime.ts'

const RESEND_MS = 60_000
const RESEND_TIMER = 1
const COLLECTED_TIMER = 2
const ID = 7n
const uri = `/shares/${ID}`
const hash = (share: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(share).digest())

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

interface World {
  readonly contract: DeployedContract
  readonly engines: readonly Party[]
  readonly devices: readonly Device[]
  readonly shares: readonly Uint8Array[]
  readonly owner: Party
  readonly stranger: Party
  /** The number of a snapshot from which both chains go on. */
  readonly fork: unknown
  /** The time of the block in which the id is registered, on each chain. */
  readonly time: number
}

const begin = async (bytes: Uint8Array): Promise<World> => {
  const { rpc, stop } = await hardhatNode.start()
  const { run, stop: stopRuntime, authorize } = await inRuntime(bytes)
  stops.push(stop, stopRuntime)
  const engines = [party(), party()]
  const list = engines.map(({ address }) => ({ engine: address, endpoint: '' }))
  const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
  const contract = await deploy(rpc, 'SecretSharing', made)
  const devices = engines.map((engine) => device(run, contract, engine, authorize))
  const shares = engines.map(() => new Uint8Array(randomBytes(48)))
  const { timestamp } = (await rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
  const fork = await rpc('evm_snapshot', [])
  const [owner, stranger] = [party(), party()]
  return { contract, engines, devices, shares, owner, stranger, fork, time: Number(timestamp) + 5 }
}

/** In a block whose time is always the same: the parent, the time and the number are those of the other chain. */
const register = async (
  { contract, time }: World,
  from: Party,
  commitments: readonly Uint8Array[],
): Promise<bigint> => {
  await contract.rpc('evm_setNextBlockTimestamp', [time])
  await contract.send(from, 'registerSharing', { id: ID, threshold: 2, commitments })
  return ticketOf(contract)
}
const ticketOf = async (contract: DeployedContract): Promise<bigint> => {
  const [{ engine }] = (await contract.ask('engines')) as [{ engine: string }]
  return ((await contract.ask('share', { id: ID, engine })) as { ticket: bigint }).ticket
}
const uploadedOf = async ({ contract }: World) =>
  ((await contract.ask('sharing', ID)) as { uploaded: boolean[] }).uploaded
const upload = async ({ devices }: World, as: Party, shares: readonly Uint8Array[]) => {
  for (const [index, each] of devices.entries()) {
    expect(await each.http('PUT', uri, { body: shares[index] as Uint8Array, as })).toMatchObject({ status: 201 })
    await each.timer(COLLECTED_TIMER)
  }
}
const takeBack = async ({ contract, fork }: World): Promise<unknown> => {
  await contract.rpc('evm_revert', [fork])
  return contract.rpc('evm_snapshot', [])
}
const download = async ({ contract, devices }: World, as: Party) => {
  await contract.send(as, 'requestDownload', ID)
  return Promise.all(devices.map((each) => each.http('GET', uri, { as })))
}
/** Everything that engines do by themselves in the minutes that follow. */
const settle = async ({ devices }: World): Promise<void> => {
  for (let times = 0; times < 3; times++) {
    for (const each of devices) {
      each.ahead += RESEND_MS + 1000
      await each.stateChange()
      await each.timer(COLLECTED_TIMER)
      await each.timer(RESEND_TIMER)
    }
  }
  for (const each of devices) each.ahead = 0
}

describe('secret sharing, when the chain took back the registration', () => {
  it('gives no share to a stranger who registers the id with the commitments of the owner', async () => {
    const world = await begin(await scriptOf('secret-sharing'))
    const { contract, engines, devices, shares, owner, stranger } = world
    const ticket = await register(world, owner, shares.map(hash))
    await upload(world, owner, shares)
    expect(await uploadedOf(world)).toEqual([true, true])

    await takeBack(world)
    const other = await register(world, stranger, shares.map(hash))
    expect(other).not.toBe(ticket)
    await contract.rpc('hardhat_mine', ['0x14'])
    await settle(world)
    expect(await uploadedOf(world)).toEqual([false, false])
    await expect(contract.send(stranger, 'requestDownload', ID)).rejects.toThrow('not every engine has its share yet')

    // Every engine is taken to have said that it holds its share.
    for (const engine of engines) await contract.send(engine, 'registerShared', ID)
    for (const answer of await download(world, stranger)) {
      expect(answer).toMatchObject({ status: 404, text: '{ "error": "Unknown sharing" }' })
    }
    const guess = await devices[0]?.http('PUT', uri, { body: new Uint8Array(randomBytes(48)), as: stranger })
    expect(guess).toMatchObject({ status: 401 })
  }, 600_000)

  it('keeps the share of each apart, and gives it back where its chain stays', async () => {
    const world = await begin(await scriptOf('secret-sharing'))
    const { contract, engines, devices, shares, owner, stranger } = world
    const ticket = await register(world, owner, shares.map(hash))
    await upload(world, owner, shares)

    const again = await takeBack(world)
    const theirs = engines.map(() => new Uint8Array(randomBytes(48)))
    await register(world, stranger, theirs.map(hash))
    await upload(world, stranger, theirs)
    for (const [index, answer] of (await download(world, stranger)).entries()) {
      expect(answer).toMatchObject({ status: 200, body: theirs[index] })
    }
    await contract.send(stranger, 'deleteSharing', ID)
    await settle(world)

    await takeBack({ ...world, fork: again })
    expect(await register(world, owner, shares.map(hash))).toBe(ticket)
    for (const engine of engines) await contract.send(engine, 'registerAllShared', [ticket])
    for (const [index, answer] of (await download(world, owner)).entries()) {
      expect(answer).toMatchObject({ status: 200, body: shares[index] })
    }
    for (const each of devices) expect(each.failed).toEqual([])
  }, 600_000)

  it('forgets, with a secret, what the same owner had under the id on the chain that is gone', async () => {
    const world = await begin(await scriptOf('secret-sharing'))
    const { contract, devices, shares, owner } = world
    await register(world, owner, shares.map(hash))
    await upload(world, owner, shares)

    await takeBack(world)
    await contract.rpc('hardhat_mine', ['0x2'])
    await contract.send(owner, 'registerSharing', { id: ID, threshold: 1, commitments: shares.map(hash) })
    await upload(world, owner, shares)
    const names = (): string[] => devices.flatMap(({ storage }) => [...storage.keys()])
    expect(names().filter((name) => name.startsWith('APART/'))).toHaveLength(2)
    await contract.send(owner, 'deleteSharing', ID)
    await settle(world)
    expect(names().filter((name) => /^(APART|SHARES)\//.test(name))).toEqual([])
  }, 600_000)
})
