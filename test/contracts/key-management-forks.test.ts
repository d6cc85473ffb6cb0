/**
 * Tests that engines keep keys apart when the chain takes back blocks that they had acted on and the id then belongs to
 * a stranger.
 */
import { createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toHex } from '../../components/bytes.ts'
import { http } from '../../components/key-management/signing.ts'
import { stateChange } from '../../components/key-management/state-change.ts'
import { hardhatNode } from '../../components/test/chains.ts'
import { type Device, device } from '../../components/test/device.ts'
import { type DeployedContract, deploy, type JsonRpc, type Party, party } from '../../components/test/evm.ts'
import { inProcess } from '../../components/test/in-process.ts'
import { keyPackage, type SigningEngine, signTogether } from '../../sdk/client/key-management.ts'

const message = new TextEncoder().encode('pay 10 to somebody')
const run = inProcess({ http, stateChange, timers: { 1: (_, context) => stateChange(context) } })
const [ID, ACTIVE] = [1n, 4n]

interface Key {
  readonly status: bigint
  readonly publicKey: Uint8Array
  readonly registration: Uint8Array
}

describe('key management, when the chain took back blocks', () => {
  let rpc: JsonRpc
  let stop: () => Promise<void>
  beforeAll(async () => {
    ;({ rpc, stop } = await hardhatNode.start())
  }, 600_000)
  afterAll(() => stop())

  const begin = async () => {
    const parties = [party(), party(), party()]
    const list = parties.map(({ address }) => ({ engine: address, endpoint: '' }))
    const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
    const contract = await deploy(rpc, 'KeyManagement', made)
    return { contract, devices: parties.map((one) => device(run, contract, one)), owner: party(), stranger: party() }
  }
  type World = Awaited<ReturnType<typeof begin>>

  /** `time` is that of its block: with it the parent and the number of the block are those of the other chain. */
  const create = async ({ contract }: World, from: Party, time: number): Promise<Key> => {
    await rpc('evm_setNextBlockTimestamp', [time])
    const policy = { signers: [from.address], notAfter: 0n, sharesPerDay: 0n, prefix: new Uint8Array() }
    await contract.send(from, 'createKey', { id: ID, threshold: 2, policy_: policy })
    return keyOf(contract)
  }
  const keyOf = async (contract: DeployedContract) => (await contract.ask('key', ID)) as Key
  const soon = async (): Promise<number> => {
    const { timestamp } = (await rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
    return Number(timestamp) + 5
  }
  const settle = async ({ devices }: World, rounds = 4): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      for (const each of devices) {
        each.ahead += 61_000
        await each.stateChange()
      }
    }
  }
  const asked = (devices: readonly Device[], as: Party): SigningEngine[] =>
    devices.map((one, index) => ({
      index,
      name: `engine ${index + 1}`,
      post: async (path, body) => {
        const { status, text } = await one.http('POST', path, { body, as })
        return { status, body: text }
      },
    }))
  const signedBy = async ({ contract, devices }: World, as: Party): Promise<Uint8Array> => {
    const { publicKey } = await keyOf(contract)
    const key = keyPackage((await contract.ask('commitments', ID)) as Uint8Array[], 2, publicKey)
    const { signature } = await signTogether(ID, message, key, asked(devices, as))
    return signature
  }
  const holds = (signature: Uint8Array, publicKey: Uint8Array): boolean => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') }
    return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  }

  it('makes another key for a stranger who has the id now, and keeps that of the owner apart', async () => {
    const world = await begin()
    const { contract, devices, owner, stranger } = world
    const [fork, time] = [await rpc('evm_snapshot', []), await soon()]
    const { registration } = await create(world, owner, time)
    await settle(world)
    const before = await keyOf(contract)
    expect(before.status).toBe(ACTIVE)
    const commitments = (await contract.ask('commitments', ID)) as Uint8Array[]

    await rpc('evm_revert', [fork])
    const theirs = await create(world, stranger, time)
    expect(theirs.registration).not.toEqual(registration)
    await rpc('hardhat_mine', ['0x14'])
    await settle(world)
    const after = await keyOf(contract)
    expect([after.status, toHex(after.publicKey) === toHex(before.publicKey)]).toEqual([ACTIVE, false])
    const signature = await signedBy(world, stranger)
    expect([holds(signature, after.publicKey), holds(signature, before.publicKey)]).toEqual([true, false])
    const published = (await contract.ask('commitments', ID)) as Uint8Array[]
    for (const [index, one] of published.entries()) expect(one).not.toEqual(commitments[index])
    for (const { storage, failed } of devices) {
      expect(storage.has(`KEY-SHARES/${toHex(registration)}`)).toBe(true)
      expect(failed).toEqual([])
    }
  }, 600_000)

  it('signs nothing for a stranger whose key says that it is that of the owner', async () => {
    const world = await begin()
    const { contract, devices, owner, stranger } = world
    const [fork, time] = [await rpc('evm_snapshot', []), await soon()]
    await create(world, owner, time)
    await settle(world)
    const { publicKey } = await keyOf(contract)
    const packages = (await contract.ask('commitments', ID)) as Uint8Array[]

    await rpc('evm_revert', [fork])
    const { registration } = await create(world, stranger, time)
    // Every engine is taken to have published the packages of before.
    const named = { id: ID, registration }
    for (const [index, { party: engine }] of devices.entries()) {
      await contract.send(engine, 'publishCommitments', { ...named, package: packages[index] })
    }
    for (const [index, { party: engine }] of devices.entries()) {
      const encrypted = devices.map((_, to) => new Uint8Array(to === index ? 0 : 48))
      await contract.send(engine, 'publishShares', { ...named, encrypted })
    }
    for (const { party: engine } of devices) await contract.send(engine, 'confirm', { ...named, publicKey })
    expect(await keyOf(contract)).toMatchObject({ status: ACTIVE, publicKey })
    await settle(world, 1)
    for (const each of devices) {
      const answer = await each.http('POST', `/keys/${ID}/commitments`, { as: stranger })
      expect([answer.status, answer.text]).toEqual([503, '{"error":"This engine has no share of the key"}'])
    }
  }, 600_000)

  it('signs on with the key of the owner where its chain is back', async () => {
    const world = await begin()
    const { contract, devices, owner, stranger } = world
    const [fork, time] = [await rpc('evm_snapshot', []), await soon()]
    const { registration } = await create(world, owner, time)
    await settle(world)
    const { publicKey } = await keyOf(contract)
    const sent = devices.map((each) => each.sent.splice(0))

    await rpc('evm_revert', [fork])
    const again = await rpc('evm_snapshot', [])
    await create(world, stranger, time)
    await settle(world)
    await rpc('evm_revert', [again])
    expect((await create(world, owner, time)).registration).toEqual(registration)
    for (let round = 0; round < 3; round++) {
      for (const [index, each] of devices.entries()) {
        await contract.sendRaw(each.party, sent[index]?.[round] as Uint8Array)
      }
    }
    expect(await keyOf(contract)).toMatchObject({ status: ACTIVE, publicKey })
    expect(holds(await signedBy(world, owner), publicKey)).toBe(true)
  }, 600_000)

  it('makes the key of the owner anew where only its making was taken back', async () => {
    const world = await begin()
    const { contract, devices, owner } = world
    await create(world, owner, await soon())
    const fork = await rpc('evm_snapshot', [])
    await settle(world)
    const before = await keyOf(contract)

    await rpc('evm_revert', [fork])
    await rpc('hardhat_mine', ['0x14'])
    await settle(world)
    const after = await keyOf(contract)
    expect([after.status, after.registration]).toEqual([ACTIVE, before.registration])
    expect(after.publicKey).not.toEqual(before.publicKey)
    expect(holds(await signedBy(world, owner), after.publicKey)).toBe(true)
    for (const { failed } of devices) expect(failed).toEqual([])
  }, 600_000)

  it('refuses what engines had sent for the registration of another', async () => {
    const world = await begin()
    const { contract, devices, owner, stranger } = world
    const [fork, time] = [await rpc('evm_snapshot', []), await soon()]
    await create(world, owner, time)
    await settle(world)
    const sent = devices.map((each) => [...each.sent])

    await rpc('evm_revert', [fork])
    await create(world, stranger, time)
    for (const [index, { party: engine }] of devices.entries()) {
      for (const payload of sent[index] ?? []) {
        await expect(contract.sendRaw(engine, payload)).rejects.toThrow('the id belongs to another registration')
      }
    }
    expect(await contract.ask('commitments', ID)).toEqual(devices.map(() => new Uint8Array()))
  }, 600_000)
})
