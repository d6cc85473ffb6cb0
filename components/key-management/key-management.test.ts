/** Keys of several engines over one chain: made, used, denied, and what goes wrong. */
import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { ed25519_FROST as frost, x25519 } from '@noble/curves/ed25519.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { keyPackage, type SigningEngine, SigningError, signTogether } from '../../sdk/client/key-management.ts'
import { answer as answerOf } from '../abi.ts'
import { toHex } from '../bytes.ts'
import { localChain } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, type JsonRpc, type Party, party } from '../test/evm.ts'
import { inProcess } from '../test/in-process.ts'
import { publishShares, selectors } from './contract.ts'
import { decrypt, encrypt } from './encryption.ts'
import { readRound1, writeRound1 } from './packages.ts'
import { http } from './signing.ts'
import { stateChange } from './state-change.ts'
import { type KeyShare, revive } from './stored.ts'

const [owner, signer, stranger] = [party(), party(), party()]
const message = new TextEncoder().encode('pay 10 to somebody')
const ACTIVE = 4n
const FAILED = 5n

interface Key {
  status: bigint
  publicKey: Uint8Array
  registration: Uint8Array
  accuser: string
  accused: string
  reason: string
}

describe('key management, without a sandbox', () => {
  let rpc: JsonRpc
  let lastId = 0n
  const run = inProcess({ http, stateChange, timers: { 1: (_, context) => stateChange(context) } })

  /** The key of three engines with which tests sign, and whose policy they put back when they changed it. */
  let sharedKey: Awaited<ReturnType<typeof active>>

  beforeAll(async () => {
    ;({ rpc } = await localChain.start())
    sharedKey = await active(2)
  })

  interface Engines {
    readonly contract: DeployedContract
    readonly devices: readonly Device[]
  }

  const engines = async (count = 3): Promise<Engines> => {
    const parties = Array.from({ length: count }, party)
    const list = parties.map(({ address }) => ({ engine: address, endpoint: '' }))
    const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
    const contract = await deploy(rpc, 'KeyManagement', made)
    return { contract, devices: parties.map((one) => device(run, contract, one)) }
  }

  /** Everything that an engine has stored but how far it has come. */
  const secretsOf = ({ storage }: Device): string[] =>
    [...storage.keys()].filter((name) => !/^(CHANGES|SENT)\//.test(name))
  const policy = (changes: object = {}): object => ({
    signers: [signer.address],
    notAfter: 0n,
    sharesPerDay: 0n,
    prefix: new Uint8Array(),
    ...changes,
  })
  const create = async ({ contract }: Engines, threshold: number, changes = {}): Promise<bigint> => {
    const id = ++lastId
    await contract.send(owner, 'createKey', { id, threshold, policy_: policy(changes) })
    return id
  }
  const keyOf = async ({ contract }: Engines, id: bigint): Promise<Key> => (await contract.ask('key', id)) as Key
  const settle = async ({ devices }: Engines, rounds = 3): Promise<void> => {
    for (let round = 0; round < rounds; round++) for (const each of devices) await each.stateChange()
  }
  const active = async (threshold: number, count = 3, changes = {}) => {
    const all = await engines(count)
    const id = await create(all, threshold, changes)
    await settle(all)
    const key = await keyOf(all, id)
    expect(key).toMatchObject({ status: ACTIVE, reason: '' })
    const round1 = (await all.contract.ask('commitments', id)) as Uint8Array[]
    return { ...all, id, threshold, publicKey: key.publicKey, key: keyPackage(round1, threshold, key.publicKey) }
  }
  const asked = (devices: readonly Device[], as: Party = signer): SigningEngine[] =>
    devices.map((one, index) => ({
      index,
      name: `engine ${index + 1}`,
      post: async (path, body) => {
        const { status, text } = await one.http('POST', path, { body, as })
        return { status, body: text }
      },
    }))
  /** The shares in a call of `publishShares`. */
  const list = (payload: Uint8Array): Uint8Array[] =>
    answerOf(payload.slice(4)).list(2, (items, index) => items.bytes(index))
  const holds = (signature: Uint8Array, publicKey: Uint8Array, signed = message): boolean => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') }
    return verify(null, signed, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  }

  it.each([
    [2, 2],
    [3, 3],
  ])(
    'makes a key of which %d of %d engines sign, as node:crypto verifies',
    async (threshold, count) => {
      const { id, devices, key, publicKey } = await active(threshold, count)
      const { signature, faults } = await signTogether(id, message, key, asked(devices))
      expect(faults).toEqual([])
      expect(holds(signature, publicKey)).toBe(true)
      expect(holds(signature, publicKey, new Uint8Array([1]))).toBe(false)
      for (const each of devices) expect(each.failed).toEqual([])
    },
    600_000,
  )

  it('signs with every set of engines that is large enough', async () => {
    const { id, devices, key, publicKey } = sharedKey
    for (const set of [
      [0, 1, 2],
      [0, 1],
      [0, 2],
      [1, 2],
    ]) {
      const chosen = asked(devices).filter(({ index }) => set.includes(index))
      const { signature, faults } = await signTogether(id, message, key, chosen)
      expect(faults).toEqual([])
      expect(holds(signature, publicKey)).toBe(true)
    }
    for (const each of devices) expect(each.failed).toEqual([])
  })

  it('signs without the engine that is gone, and says which', async () => {
    const { id, devices, key, publicKey } = sharedKey
    const all = asked(devices)
    const gone: SigningEngine = { ...(all[0] as SigningEngine), post: () => Promise.reject(new Error('refused')) }
    const { signature, faults } = await signTogether(id, message, key, all.with(0, gone))
    expect(holds(signature, publicKey)).toBe(true)
    expect(faults).toEqual([{ engine: 'engine 1', why: 'it could not be asked: refused' }])
    const alone = signTogether(id, message, key, [
      gone,
      { ...gone, name: 'engine 2', index: 1 },
      all[2] as SigningEngine,
    ])
    await expect(alone).rejects.toThrow(SigningError)
  })

  it('names the engine that gives a wrong share, and signs without it', async () => {
    const { id, devices, key, publicKey } = sharedKey
    const all = asked(devices)
    const liar: SigningEngine = {
      ...(all[1] as SigningEngine),
      post: async (path, body) => {
        const answer = await (all[1] as SigningEngine).post(path, body)
        if (!path.endsWith('shares')) return answer
        const { share, ...rest } = JSON.parse(answer.body) as { share: string }
        return {
          ...answer,
          body: JSON.stringify({ ...rest, share: share.replace(/^../, (byte) => (byte === '00' ? '01' : '00')) }),
        }
      },
    }
    const { signature, faults } = await signTogether(id, message, key, all.with(1, liar))
    expect(holds(signature, publicKey)).toBe(true)
    expect(faults).toEqual([{ engine: 'engine 2', why: 'its signature share is wrong' }])
  })

  it('does nothing twice, however often it is woken, and goes on where it was', async () => {
    const all = await engines()
    const id = await create(all, 2)
    for (let n = 0; n < 3; n++) await all.devices[0]?.stateChange()
    expect(all.devices[0]?.sent).toHaveLength(1)
    await settle(all, 5)
    expect(await keyOf(all, id)).toMatchObject({ status: ACTIVE })
    for (const each of all.devices) {
      expect(each.failed).toEqual([])
      expect(each.sent).toHaveLength(3)
    }
  })

  it('sends the same again a minute after a transaction was lost', async () => {
    const all = await engines()
    const id = await create(all, 2)
    const first = all.devices[0] as Device
    for (let step = 0; step < 3; step++) {
      first.offline = true
      for (const each of all.devices) await each.stateChange()
      first.offline = false
      await first.timer(1)
      expect(first.sent).toHaveLength(2 * step + 1)
      first.ahead += 61_000
      await first.timer(1)
      expect(first.sent.at(-1)).toEqual(first.sent.at(-2))
      for (const each of all.devices.slice(1)) await each.stateChange()
    }
    expect(await keyOf(all, id)).toMatchObject({ status: ACTIVE })
  })

  it('sends three transactions for a key, however late it sees them', async () => {
    const lagMs = 144_000
    const all = await engines()
    const id = await create(all, 2)
    const first = all.devices[0] as Device
    for (let step = 1; step <= 3; step++) {
      first.lagMs = lagMs
      await first.stateChange()
      while (first.timers.get(1) === 0) await first.timer(1)
      const waitMs = first.timers.get(1) ?? 0
      expect([waitMs > lagMs + 55_000, waitMs <= lagMs + 60_000]).toEqual([true, true])
      first.ahead += lagMs + 65_000
      await first.timer(1)
      expect(first.sent).toHaveLength(step)
      for (const each of all.devices.slice(1)) await each.stateChange()
    }
    expect(await keyOf(all, id)).toMatchObject({ status: ACTIVE })
  })

  it('takes one step in a run, however many keys wait, and goes on at once until it has taken all', async () => {
    const all = await engines()
    for (let key = 0; key < 5; key++) await create(all, 2)
    const first = all.devices[0] as Device
    await first.stateChange()
    for (const sent of [1, 2, 3, 4, 5]) {
      expect(first.sent).toHaveLength(sent)
      expect(first.timers.get(1)).toBe(0)
      await first.timer(1)
    }
    expect(first.sent).toHaveLength(5)
    expect(first.timers.get(1)).toBe(60_000)
  })

  it('sends every lost transaction again after a minute, one in a run', async () => {
    const all = await engines()
    for (let key = 0; key < 3; key++) await create(all, 2)
    const first = all.devices[0] as Device
    first.offline = true
    await first.stateChange()
    while (first.timers.get(1) === 0) await first.timer(1)
    first.offline = false
    first.ahead += 61_000
    for (const sent of [4, 5, 6]) {
      await first.timer(1)
      expect(first.sent).toHaveLength(sent)
      expect(first.timers.get(1)).toBe(0)
    }
    expect(first.sent.slice(3)).toEqual(first.sent.slice(0, 3))
    await first.timer(1)
    expect(first.timers.get(1)).toBe(60_000)
  })

  it('forgets a key that is disabled, also while every step for another key fails', async () => {
    const all = await engines()
    const id = await create(all, 2)
    const shares = `KEY-SHARES/${toHex((await keyOf(all, id)).registration)}`
    await settle(all, 4)
    let fails = true
    const askRaw = (data: Uint8Array): Promise<Uint8Array> =>
      fails && toHex(data).startsWith(selectors['commitments(uint128)'])
        ? Promise.reject(new Error('that is too large'))
        : all.contract.askRaw(data)
    const [first] = all.devices as [Device, Device, Device]
    const failing = device(run, { ...all.contract, askRaw }, first.party)
    for (const [name, value] of first.storage) failing.storage.set(name, value)
    expect(failing.storage.has(shares)).toBe(true)
    const stuck = await create(all, 2)
    await expect(failing.stateChange()).rejects.toThrow('that is too large')
    await all.contract.send(owner, 'disable', id)
    await failing.stateChange()
    expect(failing.storage.has(shares)).toBe(false)
    await expect(failing.timer(1)).rejects.toThrow('that is too large')
    fails = false
    await failing.stateChange()
    expect(failing.sent).toHaveLength(1)
    await settle({ ...all, devices: [failing, ...all.devices.slice(1)] }, 5)
    expect(await keyOf(all, stuck)).toMatchObject({ status: ACTIVE })
  })

  it('goes on with the storage of before, which says once how far the changes were read', async () => {
    const all = await engines()
    const id = await create(all, 2)
    await settle(all)
    const [first] = all.devices as [Device, Device, Device]
    const forgotten = `CHANGES/${toHex(new TextEncoder().encode('forgotten'))}`
    expect(first.storage.delete(forgotten)).toBe(true)
    await all.contract.send(owner, 'disable', id)
    await create(all, 2)
    await first.stateChange()
    expect(first.storage.has(`KEY-SHARES/${toHex((await keyOf(all, id)).registration)}`)).toBe(false)
    expect(first.sent).toHaveLength(3)
    await first.timer(1)
    expect(first.sent).toHaveLength(4)
  })

  it('fails by name when a share does not fit', async () => {
    const all = await engines()
    const id = await create(all, 2)
    await settle(all, 1)
    const [first, second, third] = all.devices as [Device, Device, Device]
    await first.stateChange()
    await second.stateChange()
    const sealed = (await all.contract.ask('sharesFor', { id, engine: 0n })) as Uint8Array[]
    expect(sealed[1]).toHaveLength(48)
    const { registration } = await keyOf(all, id)
    const nonsense = [randomBytes(48), randomBytes(48), new Uint8Array()]
    await all.contract.sendRaw(third.party, publishShares({ id, registration }, nonsense))
    await first.stateChange()
    expect(await keyOf(all, id)).toMatchObject({
      status: FAILED,
      accuser: first.party.address,
      accused: third.party.address,
      reason: 'its share cannot be decrypted',
    })
    await settle(all)
    for (const each of all.devices) expect(secretsOf(each)).toEqual([])
  })

  it.each([
    ['another number', (share: Uint8Array) => share.with(0, (share[0] ?? 0) ^ 1)],
    ['a number beyond the order of the group', () => new Uint8Array(32).fill(255)],
    ['zero', () => new Uint8Array(32)],
  ])(
    'fails by name when a share that was encrypted well does not fit its commitments: %s',
    async (_, wrong) => {
      const all = await engines()
      const id = await create(all, 2)
      await settle(all, 1)
      const [first, second, third] = all.devices as [Device, Device, Device]
      await first.stateChange()
      await second.stateChange()
      const { registration } = await keyOf(all, id)
      const name = `GENERATIONS/${toHex(registration)}`
      const generation = (of: Device) =>
        JSON.parse(Buffer.from(of.storage.get(name) ?? []).toString(), revive) as { readonly encryptionKey: Uint8Array }
      const [own, theirs] = [generation(third).encryptionKey, generation(first).encryptionKey]
      const chainId = String(Number(await rpc('eth_chainId', [])))
      const contract = `00${all.contract.address.slice(2).toLowerCase()}`
      const way = { chainId, contract, key: id, registration, from: 2, to: 0 }
      // The third engine would publish a set of shares of which one is changed.
      third.offline = true
      await third.stateChange()
      const right = list(third.sent.at(-1) ?? new Uint8Array())
      const share = decrypt(right[0] ?? new Uint8Array(), own, x25519.getPublicKey(theirs), way)
      const changed = encrypt(wrong(share), own, x25519.getPublicKey(theirs), way)
      await all.contract.sendRaw(third.party, publishShares({ id, registration }, right.with(0, changed)))
      third.offline = false
      await settle(all)
      expect(await keyOf(all, id)).toMatchObject({
        status: FAILED,
        accuser: first.party.address,
        accused: third.party.address,
        reason: 'its share does not fit its commitments',
      })
      for (const each of all.devices) {
        expect(secretsOf(each)).toEqual([])
        const answer = await each.http('POST', `/keys/${id}/commitments`, { as: signer })
        expect([answer.status, answer.text]).toEqual([409, '{"error":"The key cannot sign: failed"}'])
      }
    },
    600_000,
  )

  it('fails by name when commitments come without a proof', async () => {
    const all = await engines()
    const id = await create(all, 2)
    const [first, second, third] = all.devices as [Device, Device, Device]
    await first.stateChange()
    await third.stateChange()
    const [theirs = new Uint8Array()] = (await all.contract.ask('commitments', id)) as Uint8Array[]
    const { commitment, encryptionKey } = readRound1(theirs, 2)
    const proofOfKnowledge = readRound1(theirs, 2).proofOfKnowledge
    // The commitments of another, with the proof that was made for them: it does not fit a second place.
    const { registration } = await keyOf(all, id)
    const copied = writeRound1({ encryptionKey, commitment, proofOfKnowledge })
    await all.contract.send(second.party, 'publishCommitments', { id, registration, package: copied })
    await first.stateChange()
    expect(await keyOf(all, id)).toMatchObject({
      status: FAILED,
      accuser: first.party.address,
      accused: second.party.address,
      reason: 'its commitments or its proof of knowledge do not hold',
    })
  })

  it.each([1, 3, 4])('fails by the name of engine %i of five, whose proof is wrong', async (wrong) => {
    const all = await engines(5)
    const id = await create(all, 2)
    const { registration } = await keyOf(all, id)
    const liar = all.devices[wrong] as Device
    for (const each of all.devices) if (each !== liar) await each.stateChange()
    const [theirs = new Uint8Array()] = (await all.contract.ask('commitments', id)) as Uint8Array[]
    const copied = writeRound1(readRound1(theirs, 2))
    await all.contract.send(liar.party, 'publishCommitments', { id, registration, package: copied })
    await all.devices[0]?.stateChange()
    expect(await keyOf(all, id)).toMatchObject({ status: FAILED, accused: liar.party.address })
  })

  it('makes its share of an active key again, where a backup from before its confirmation was put back', async () => {
    const all = await engines()
    const id = await create(all, 2)
    await settle(all, 2)
    const first = all.devices[0] as Device
    const backup = new Map(first.storage)
    await settle(all)
    const { status, publicKey } = await keyOf(all, id)
    expect(status).toBe(ACTIVE)
    first.storage.clear()
    for (const [name, value] of backup) first.storage.set(name, value)
    Object.assign(first, { generation: 'second' })
    first.timers.clear()
    await first.stateChange()
    const key = keyPackage((await all.contract.ask('commitments', id)) as Uint8Array[], 2, publicKey)
    const { signature, faults } = await signTogether(id, message, key, asked(all.devices).slice(0, 2))
    expect(faults).toEqual([])
    expect(holds(signature, publicKey)).toBe(true)
    while (first.timers.get(1) === 0) await first.timer(1)
    expect([...first.storage.keys()].filter((name) => name.startsWith('GENERATIONS/'))).toEqual([])
  })

  it('fails when an engine has lost what it had begun', async () => {
    const all = await engines()
    const id = await create(all, 2)
    await settle(all, 1)
    const [first] = all.devices as [Device, Device, Device]
    first.storage.clear()
    await first.stateChange()
    expect(await keyOf(all, id)).toMatchObject({
      status: FAILED,
      accused: first.party.address,
      reason: 'this engine has lost what it had begun',
    })
  })

  it('waits for an engine that is gone, and goes on when it is back', async () => {
    const all = await engines()
    const id = await create(all, 2)
    const [first, second, third] = all.devices as [Device, Device, Device]
    for (let n = 0; n < 3; n++) for (const each of [first, second]) await each.stateChange()
    expect((await keyOf(all, id)).status).toBe(1n)
    await third.stateChange()
    await settle(all)
    expect((await keyOf(all, id)).status).toBe(ACTIVE)
  })

  describe('of a request', () => {
    const post = (one: Device | undefined, uri: string, body: unknown = {}, as: Party = signer) =>
      (one as Device).http('POST', uri, { body: JSON.stringify(body), as })
    const commitmentsOf = async (devices: readonly Device[], id: bigint, as = signer) => {
      const answers = await Promise.all(devices.map((one) => post(one, `/keys/${id}/commitments`, {}, as)))
      return answers.map(({ text }) => {
        const { identifier, hiding, binding } = JSON.parse(text) as Record<string, string>
        return { identifier, hiding, binding }
      })
    }
    const first = (): Device => sharedKey.devices[0] as Device
    const change = (changes: object) =>
      sharedKey.contract.send(owner, 'setPolicy', { id: sharedKey.id, policy_: policy(changes) })
    const shareOf = async (body: object, as = signer, one = first()) =>
      post(one, `/keys/${sharedKey.id}/signature-shares`, body, as)

    it.each([
      ['/keys', 404, 'Invalid URL'],
      ['/keys/1', 404, 'Invalid URL'],
      ['/keys/1/commitments/', 404, 'Invalid URL'],
      ['/keys/1/commitments?a=1', 404, 'Invalid URL'],
      ['/keys/x/commitments', 400, 'Malformed request'],
      ['/keys/01/commitments', 400, 'Malformed request'],
      [`/keys/${2n ** 128n}/commitments`, 400, 'Malformed request'],
      ['/keys/99999999/commitments', 404, 'Unknown key'],
    ])('answers %s by %d', async (uri, status, error) => {
      const answer = await post(first(), uri)
      expect(answer).toMatchObject({ status, text: JSON.stringify({ error }) })
    })

    it('answers other methods by 405', async () => {
      expect(await first().http('GET', `/keys/${sharedKey.id}/commitments`, { as: signer })).toMatchObject({
        status: 405,
      })
    })

    it('knows nobody but whom the policy names at this block', async () => {
      const uri = `/keys/${sharedKey.id}/commitments`
      for (const as of [stranger, owner]) expect(await post(first(), uri, {}, as)).toMatchObject({ status: 401 })
      expect(await first().http('POST', uri, { body: '{}' })).toMatchObject({ status: 401 })
      await change({ signers: [stranger.address] })
      expect(await post(first(), uri, {}, signer)).toMatchObject({ status: 401 })
      expect(await post(first(), uri, {}, stranger)).toMatchObject({ status: 200 })
      await change({ signers: [] })
      expect(await post(first(), uri, {}, stranger)).toMatchObject({ status: 401 })
      await change({})
    })

    it('gives a share once for each commitment', async () => {
      const commitments = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      const body = { message: toHex(message), commitments }
      expect(await shareOf(body)).toMatchObject({ status: 200 })
      const refused = { status: 409, text: JSON.stringify({ error: 'Unknown, used or expired commitments' }) }
      expect(await shareOf(body)).toMatchObject(refused)
      expect(await shareOf({ ...body, message: 'ff' })).toMatchObject(refused)
    })

    it('gives none for commitments of another caller, of another engine, or of long ago', async () => {
      await change({ signers: [signer.address, stranger.address] })
      const commitments = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      const body = { message: toHex(message), commitments }
      expect(await shareOf(body, stranger)).toMatchObject({ status: 409 })
      expect(await shareOf(body, signer, sharedKey.devices[2])).toMatchObject({ status: 400 })
      first().ahead = 301_000
      expect(await shareOf(body)).toMatchObject({ status: 409 })
      first().ahead = 0
      await change({})
    })

    it('keeps a few nonces for each caller, and lets the oldest go', async () => {
      const [oldest] = await commitmentsOf([first()], sharedKey.id)
      for (let n = 0; n < 16; n++) await commitmentsOf([first()], sharedKey.id)
      const [, other] = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      expect(await shareOf({ message: toHex(message), commitments: [oldest, other] })).toMatchObject({ status: 409 })
    })

    it('uses no nonces of a backup that was put back', async () => {
      const [one, other] = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      const backup = new Map(first().storage)
      const body = (signed: Uint8Array) => ({ message: toHex(signed), commitments: [one, other] })
      expect(await shareOf(body(message))).toMatchObject({ status: 200 })
      first().storage.clear()
      for (const [name, value] of backup) first().storage.set(name, value)
      first().generation = 'second'
      expect(await shareOf(body(new Uint8Array([...message, 1])))).toMatchObject({ status: 409 })
      const [again] = await commitmentsOf([first()], sharedKey.id)
      const fresh = { message: toHex(message), commitments: [again, other] }
      expect(await shareOf(fresh)).toMatchObject({ status: 200 })
    })

    it('answers whatever is no message with commitments by 400, and keeps the nonces', async () => {
      const [one, other] = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      const good = { message: toHex(message), commitments: [one, other] }
      const point = 'ff'.repeat(32)
      for (const body of [
        {},
        [],
        null,
        { ...good, message: 'xyz' },
        { ...good, message: 7 },
        { ...good, message: 'aa'.repeat(16_385) },
        { ...good, commitments: 'x' },
        { ...good, commitments: [one] },
        { ...good, commitments: [one, one] },
        { ...good, commitments: [one, other, other] },
        { ...good, commitments: [one, null] },
        { ...good, commitments: [one, { ...other, identifier: '09'.padEnd(64, '0') }] },
        { ...good, commitments: [one, { ...other, hiding: 'aa' }] },
        { ...good, commitments: Array.from({ length: 50 }, () => one) },
      ]) {
        expect(await shareOf(body as object)).toMatchObject({ status: 400, text: '{"error":"Malformed request"}' })
      }
      expect(
        await first().http('POST', `/keys/${sharedKey.id}/signature-shares`, { body: 'no JSON', as: signer }),
      ).toMatchObject({ status: 400 })
      expect(await shareOf(good)).toMatchObject({ status: 200 })
      const [next] = await commitmentsOf([first()], sharedKey.id)
      const invalid = { ...good, commitments: [next, { ...other, hiding: point }] }
      expect(await shareOf(invalid)).toMatchObject({ status: 400 })
      expect(await shareOf(invalid)).toMatchObject({ status: 409 })
    })

    it('signs nothing that does not begin as the policy says', async () => {
      await change({ prefix: new TextEncoder().encode('pay ') })
      const commitments = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
      const denied = await shareOf({ message: '70617900', commitments })
      expect(denied).toMatchObject({ status: 403 })
      expect(await shareOf({ message: '7061', commitments })).toMatchObject({ status: 403 })
      expect(await shareOf({ message: toHex(message), commitments })).toMatchObject({ status: 200 })
      await change({})
    })

    it('signs nothing after the end of the policy', async () => {
      const end = BigInt(Math.floor(Date.now() / 1000) + 3600)
      await change({ notAfter: end })
      expect(await post(first(), `/keys/${sharedKey.id}/commitments`)).toMatchObject({ status: 200 })
      first().ahead = 3_700_000
      expect(await post(first(), `/keys/${sharedKey.id}/commitments`)).toMatchObject({
        status: 403,
        text: '{"error":"The policy of the key has ended"}',
      })
      first().ahead = 0
      await change({})
    })

    it.each([2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n])(
      'takes the end %d of a policy for later than any time',
      async (notAfter) => {
        await change({ notAfter })
        expect(await post(first(), `/keys/${sharedKey.id}/commitments`)).toMatchObject({ status: 200 })
        expect(await post(first(), `/keys/${sharedKey.id}/commitments`, {}, stranger)).toMatchObject({ status: 401 })
        await change({})
      },
    )

    it('gives so many shares in a day, and more the next', async () => {
      await change({ sharesPerDay: 1n })
      const signed = async () => {
        const commitments = await commitmentsOf(sharedKey.devices.slice(0, 2), sharedKey.id)
        return (await shareOf({ message: toHex(message), commitments })).status
      }
      expect(await signed()).toBe(200)
      expect(await signed()).toBe(429)
      first().ahead = 86_400_000
      expect(await signed()).toBe(200)
      first().ahead = 0
      await change({})
    })

    it('signs nothing before a key is made, nor after it was disabled, and forgets its share then', async () => {
      const id = await create(sharedKey, 2)
      const uri = `/keys/${id}/commitments`
      expect(await post(first(), uri)).toMatchObject({
        status: 409,
        text: '{"error":"The key cannot sign: commitments"}',
      })
      // The first of four rounds forgets what the key of before has left.
      await settle(sharedKey, 4)
      expect(await post(first(), uri)).toMatchObject({ status: 200 })
      const name = `KEY-SHARES/${toHex((await keyOf(sharedKey, id)).registration)}`
      expect(first().storage.has(name)).toBe(true)
      await sharedKey.contract.send(owner, 'disable', id)
      expect(await post(first(), uri)).toMatchObject({ status: 409, text: '{"error":"The key cannot sign: disabled"}' })
      await settle(sharedKey, 1)
      for (const each of sharedKey.devices) {
        expect(each.storage.has(name)).toBe(false)
      }
    })
  })

  it('forgets nonces and counts with a key that is disabled', async () => {
    const disabled = await active(2, 3, { sharesPerDay: 5n, signers: [signer.address, stranger.address] })
    const { id, devices, key, contract } = disabled
    const registration = toHex((await keyOf(disabled, id)).registration)
    const first = devices[0] as Device
    await signTogether(id, message, key, asked(devices))
    for (const as of [signer, stranger]) await first.http('POST', `/keys/${id}/commitments`, { body: '{}', as })
    const rows = () => [...first.storage.keys()].filter((name) => name.includes(registration) || /^NONCES/.test(name))
    expect(rows().map((name) => name.split('/')[0])).toEqual(
      expect.arrayContaining(['KEY-SHARES', 'COUNTS', 'CALLERS', 'NONCES', 'NONCES']),
    )
    await contract.send(owner, 'disable', id)
    await settle(disabled)
    expect(rows()).toEqual([])
  })

  it('drops nonces that have expired, of every caller, when one asks for others', async () => {
    const { id, devices } = await active(2, 3, { signers: [signer.address, stranger.address] })
    const first = devices[0] as Device
    const ask = (as: Party) => first.http('POST', `/keys/${id}/commitments`, { body: '{}', as })
    const count = () => [...first.storage.keys()].filter((name) => name.startsWith('NONCES/')).length
    await ask(signer)
    first.ahead = 200_000
    await ask(stranger)
    expect(count()).toBe(2)
    first.ahead = 301_000
    await ask(stranger)
    expect(count()).toBe(1)
    first.ahead = 602_000
    await ask(signer)
    expect(count()).toBe(1)
    expect([...first.storage.keys()].filter((name) => name.startsWith('CALLERS/'))).toHaveLength(1)
  })

  it('leaves the disk of one engine, with all that was said, without the key', async () => {
    const bodies: string[] = []
    const { id, devices, key, publicKey, contract } = await active(2)
    await settle({ devices, contract }, 1)
    const { registration } = await keyOf({ devices, contract }, id)
    const overheard = asked(devices).map((one) => ({
      ...one,
      post: async (path: string, body: string) => {
        const answer = await one.post(path, body)
        bodies.push(body, answer.body)
        return answer
      },
    }))
    await signTogether(id, message, key, overheard)
    const shares = devices.map(({ storage }) => {
      const stored = storage.get(`KEY-SHARES/${toHex(registration)}`) ?? new Uint8Array()
      const [one] = JSON.parse(Buffer.from(stored).toString(), revive) as KeyShare[]
      return (one as KeyShare).secret
    })
    const secretKey = frost.combineSecret(shares.slice(0, 2), key.signers)
    expect(holds(frost.sign(message, secretKey), publicKey)).toBe(true)

    const disk = [...(devices[0] as Device).storage.values()].map((value) => Buffer.from(value).toString('latin1'))
    const chainTraffic = devices.flatMap(({ sent }) => sent.map(toHex))
    const dump = [
      ...disk,
      ...disk.map((text) => Buffer.from(text, 'latin1').toString('hex')),
      ...chainTraffic,
      ...bodies,
    ].join('\n')
    expect(dump).toContain(toHex((shares[0] as { signingShare: Uint8Array }).signingShare))
    for (const secret of [secretKey, ...shares.slice(1).map(({ signingShare }) => signingShare)]) {
      expect(dump).not.toContain(toHex(secret))
      expect(dump).not.toContain(toHex(secret.toReversed()))
    }
    // The share of one engine is one point of a line, which alone says nothing of where the line begins.
    expect(() => frost.combineSecret(shares.slice(0, 1), key.signers)).toThrow()
    const guessed = {
      identifier: (shares[1] as { identifier: string }).identifier,
      signingShare: new Uint8Array(32).fill(1),
    }
    const wrong = frost.combineSecret([shares[0] as typeof guessed, guessed], key.signers)
    expect(Buffer.compare(wrong, secretKey)).not.toBe(0)
    // Nothing that opens a message of the key generation is left on any disk.
    for (const { storage } of devices)
      expect([...storage.keys()].some((name) => name.startsWith('GENERATIONS'))).toBe(false)
  })
})
