import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chains } from '../test/chains.ts'
import { type DeployedContract, deploy, type JsonRpc, type Party, party } from '../test/evm.ts'

const engines = [party(), party(), party()] as const
const [owner, stranger] = [party(), party()]
const list = engines.map(({ address }) => ({ engine: address, endpoint: '' }))
const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
const nobody = `0x${'0'.repeat(40)}`

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte)
const round1 = filled(96 + 2 * 32, 1)
const sharesOf = (index: number, byte = 9): Uint8Array[] =>
  engines.map((_, to) => filled(to === index ? 0 : 48, byte + to))
const publicKey = filled(32, 5)
const policy = { signers: [stranger.address], notAfter: 77n, sharesPerDay: 3n, prefix: filled(4, 2) }

const BY_ENGINES = ['publishCommitments', 'publishShares', 'confirm', 'complain']

/** Wraps the contract, to which engines name the registration that the key has now. */
function naming(contract: DeployedContract): DeployedContract {
  const registrationOf = async (id: bigint) =>
    ((await contract.ask('key', id)) as { registration: Uint8Array }).registration
  return {
    ...contract,
    send: async (from, method, args) => {
      if (!BY_ENGINES.includes(method)) return contract.send(from, method, args)
      const { id } = args as { id: bigint }
      return contract.send(from, method, { registration: await registrationOf(id), ...(args as object) })
    },
  }
}

describe.each(chains)('the key management contract on $name', ({ start }) => {
  let rpc: JsonRpc
  let stop: () => Promise<void>
  let contract: DeployedContract
  let last = 0n
  beforeAll(async () => {
    ;({ rpc, stop } = await start())
    contract = naming(await deploy(rpc, 'KeyManagement', made))
  })
  afterAll(() => stop())

  const created = async (): Promise<bigint> => {
    const id = ++last
    await contract.send(owner, 'createKey', { id, threshold: 2, policy_: policy })
    return id
  }
  const committed = async (): Promise<bigint> => {
    const id = await created()
    for (const engine of engines) await contract.send(engine, 'publishCommitments', { id, package: round1 })
    return id
  }
  const shared = async (): Promise<bigint> => {
    const id = await committed()
    for (const [index, engine] of engines.entries()) {
      await contract.send(engine, 'publishShares', { id, encrypted: sharesOf(index) })
    }
    return id
  }
  const active = async (): Promise<bigint> => {
    const id = await shared()
    for (const engine of engines) await contract.send(engine, 'confirm', { id, publicKey })
    return id
  }
  const changesAfter = async (seen: bigint, last: bigint, most: bigint) =>
    (await contract.ask('changesAfter', { seen, last, most })) as {
      found: { count: bigint; entry: bigint; registration: Uint8Array; threshold: bigint }[]
      count: bigint
      entry: bigint
      more: boolean
    }
  /** The status of the key in each change that is still so. */
  const statusesOf = async (id: bigint): Promise<bigint[]> => {
    const { found } = await changesAfter(0n, 0n, 1000n)
    return found.filter(({ entry }) => entry >> 128n === id).map(({ entry }) => (entry >> 120n) & 0xffn)
  }
  const keyOf = async (id: bigint) => (await contract.ask('key', id)) as { status: bigint }
  const refuses = (from: Party, method: string, args: unknown, reason: string): Promise<void> =>
    expect(contract.send(from, method, args)).rejects.toThrow(reason)

  it('needs two engines', async () => {
    const alone = deploy(rpc, 'KeyManagement', { ...made, engines: list.slice(1, 2) })
    await expect(alone).rejects.toThrow('a threshold key needs 2 engines or more')
  })

  it('has 16 engines at most, of which each publishes its shares by less gas than engines give', async () => {
    const parties = Array.from({ length: 16 }, party)
    const engines = parties.map(({ address }) => ({ engine: address, endpoint: '' }))
    const more = [...engines, { engine: party().address, endpoint: '' }]
    await expect(deploy(rpc, 'KeyManagement', { ...made, engines: more })).rejects.toThrow('16 engines at most')
    const largest = naming(await deploy(rpc, 'KeyManagement', { ...made, engines }))
    await largest.send(owner, 'createKey', { id: 1n, threshold: 16, policy_: policy })
    const round1 = filled(96 + 16 * 32, 1)
    for (const engine of parties) await largest.send(engine, 'publishCommitments', { id: 1n, package: round1 })
    const { registration } = (await largest.ask('key', 1n)) as { registration: Uint8Array }
    const encrypted = parties.map((_, index) => filled(index === 0 ? 0 : 48, 9))
    const call = {
      from: parties[0]?.address,
      to: largest.address,
      data: largest.encode('publishShares', { id: 1n, registration, encrypted }),
    }
    expect(Number(await rpc('eth_estimateGas', [call]))).toBeLessThan(5_000_000)
  })

  it('has nothing to say of a key that nobody asked for', async () => {
    expect(await contract.ask('key', 999n)).toEqual({
      owner: nobody,
      threshold: 0n,
      status: 0n,
      publicKey: filled(32, 0),
      accuser: nobody,
      accused: nobody,
      reason: '',
      registration: filled(32, 0),
    })
    expect(await contract.ask('commitments', 999n)).toEqual([])
    expect(await contract.ask('confirmations', 999n)).toEqual([])
  })

  it('goes from round to round when every engine has done its part', async () => {
    const id = await created()
    expect(await keyOf(id)).toMatchObject({ owner: owner.address, threshold: 2n, status: 1n })
    expect(await statusesOf(id)).toEqual([1n])
    expect(await contract.ask('policy', id)).toEqual(policy)
    const [first, second, third] = engines
    await contract.send(first, 'publishCommitments', { id, package: round1 })
    expect(await contract.ask('commitments', id)).toEqual([round1, filled(0, 0), filled(0, 0)])
    await contract.send(second, 'publishCommitments', { id, package: round1 })
    await contract.send(third, 'publishCommitments', { id, package: round1 })
    expect(await keyOf(id)).toMatchObject({ status: 2n })
    for (const [index, engine] of engines.entries()) {
      await contract.send(engine, 'publishShares', { id, encrypted: sharesOf(index) })
    }
    expect(await keyOf(id)).toMatchObject({ status: 3n })
    expect(await contract.ask('sharesFor', { id, engine: 1n })).toEqual([filled(48, 10), filled(0, 0), filled(48, 10)])
    await contract.send(first, 'confirm', { id, publicKey })
    expect(await contract.ask('confirmations', id)).toEqual([true, false, false])
    expect(await keyOf(id)).toMatchObject({ status: 3n, publicKey: filled(32, 0) })
    await contract.send(second, 'confirm', { id, publicKey })
    await contract.send(third, 'confirm', { id, publicKey })
    expect(await keyOf(id)).toMatchObject({ status: 4n, publicKey })
    expect(await statusesOf(id)).toEqual([4n])
  })

  it('takes the same again as if it were nothing, and nothing else', async () => {
    const id = await active()
    const [first] = engines
    await contract.send(first, 'publishCommitments', { id, package: round1 })
    await contract.send(first, 'publishShares', { id, encrypted: sharesOf(0) })
    await contract.send(first, 'confirm', { id, publicKey })
    expect(await keyOf(id)).toMatchObject({ status: 4n })
    await refuses(first, 'publishCommitments', { id, package: filled(160, 2) }, 'has published other commitments')
    await refuses(first, 'publishShares', { id, encrypted: sharesOf(0, 20) }, 'has published other shares')
    await refuses(first, 'confirm', { id, publicKey: filled(32, 6) }, 'has confirmed another public key')
  })

  it('refuses keys that cannot be', async () => {
    const id = await created()
    await refuses(stranger, 'createKey', { id, threshold: 2, policy_: policy }, 'the id is in use')
    for (const threshold of [0, 1, 4]) {
      const reason = 'the threshold is not between 2 and the number of engines'
      await refuses(owner, 'createKey', { id: 1000n, threshold, policy_: policy }, reason)
    }
    const many = { ...policy, signers: Array.from({ length: 65 }, () => stranger.address) }
    await refuses(owner, 'createKey', { id: 1000n, threshold: 2, policy_: many }, 'a policy has 64 signers at most')
    const long = { ...policy, prefix: filled(257, 1) }
    await refuses(owner, 'createKey', { id: 1000n, threshold: 2, policy_: long }, 'a prefix has 256 bytes at most')
  })

  it('takes messages from its engines alone, of keys that are', async () => {
    const id = await created()
    for (const [method, args] of [
      ['publishCommitments', { package: round1 }],
      ['publishShares', { encrypted: sharesOf(0) }],
      ['confirm', { publicKey }],
      ['complain', { accused: nobody, reason: '' }],
    ] as const) {
      await refuses(owner, method, { id, ...args }, 'the sender is none of the engines')
      await refuses(engines[0], method, { id: 998n, ...args }, 'there is no such key')
    }
  })

  it('tells what has changed since, some at a time, and each key once', async () => {
    const before = await changesAfter(0n, 0n, 10_000n)
    expect(before.more).toBe(false)
    expect(await changesAfter(before.count, before.entry, 10n)).toEqual({ ...before, found: [] })
    const [one, two] = [await shared(), await created()]
    const first = await changesAfter(before.count, before.entry, 2n)
    expect(first).toMatchObject({ found: [], count: before.count + 2n, more: true })
    const second = await changesAfter(first.count, first.entry, 2n)
    expect(second.found.map(({ entry }) => entry >> 128n)).toEqual([one, two])
    expect(second).toMatchObject({ count: before.count + 4n, more: false, entry: second.found[1]?.entry })
    const { registration } = (await keyOf(two)) as unknown as { registration: Uint8Array }
    expect(second.found[1]).toMatchObject({ registration, threshold: 2n, count: before.count + 4n })
  })

  it('tells everything anew to who has seen what is not there', async () => {
    await created()
    const all = await changesAfter(0n, 0n, 10_000n)
    expect(await changesAfter(all.count, all.entry ^ 1n, 10_000n)).toEqual(all)
    expect(await changesAfter(all.count + 1n, all.entry, 10_000n)).toEqual(all)
  })

  it('says which steps it waits for an engine to take', async () => {
    const id = await created()
    const { registration } = (await keyOf(id)) as unknown as { registration: Uint8Array }
    const step = { id, registration, status: 1n }
    const steps = [step, { ...step, status: 2n }, { ...step, registration: filled(32, 7) }, { ...step, id: 997n }, step]
    const awaited = (engine: Party) => contract.ask('awaited', { engine: engine.address, steps })
    expect(await awaited(engines[0])).toEqual([0n, 4n])
    await contract.send(engines[0], 'publishCommitments', { id, package: round1 })
    expect([await awaited(engines[0]), await awaited(engines[1])]).toEqual([[], [0n, 4n]])
    await expect(awaited(owner)).rejects.toThrow('that is none of the engines')
  })

  it('takes no message that was meant for another registration of its id', async () => {
    const id = await created()
    for (const [method, args] of [
      ['publishCommitments', { package: round1 }],
      ['publishShares', { encrypted: sharesOf(0) }],
      ['confirm', { publicKey }],
      ['complain', { accused: nobody, reason: '' }],
    ] as const) {
      const other = { id, registration: filled(32, 7), ...args }
      await refuses(engines[0], method, other, 'the id belongs to another registration')
    }
    const [one, two] = (await Promise.all([keyOf(id), keyOf(await created())])) as unknown as {
      registration: Uint8Array
    }[]
    expect(one?.registration).not.toEqual(two?.registration)
  })

  it('takes messages in their round alone, and of their length', async () => {
    const [first, second] = engines
    const one = await created()
    for (const length of [0, 159, 161, 192]) {
      const reason = 'the package has the wrong length'
      await refuses(first, 'publishCommitments', { id: one, package: filled(length, 1) }, reason)
    }
    await refuses(first, 'publishShares', { id: one, encrypted: sharesOf(0) }, 'the key does not wait for shares')
    await refuses(first, 'confirm', { id: one, publicKey }, 'the key does not wait for confirmations')
    const two = await committed()
    await refuses(first, 'publishShares', { id: two, encrypted: sharesOf(0).slice(1) }, 'one share for each engine')
    await refuses(first, 'publishShares', { id: two, encrypted: sharesOf(1) }, 'a share has the wrong length')
    await refuses(first, 'confirm', { id: two, publicKey }, 'the key does not wait for confirmations')
    const three = await shared()
    await refuses(second, 'confirm', { id: three, publicKey: filled(32, 0) }, 'there is no public key')
    const failed = await created()
    await contract.send(second, 'complain', { id: failed, accused: engines[2].address, reason: 'because' })
    await refuses(first, 'publishCommitments', { id: failed, package: round1 }, 'does not wait for commitments')
  })

  it('records who complained of whom, in every round, and never after', async () => {
    const [first, second] = engines
    for (const begin of [created, committed, shared]) {
      const id = await begin()
      await refuses(
        first,
        'complain',
        { id, accused: nobody, reason: 'x'.repeat(201) },
        'a reason has 200 bytes at most',
      )
      await contract.send(first, 'complain', { id, accused: second.address, reason: 'because' })
      expect(await keyOf(id)).toMatchObject({
        status: 5n,
        accuser: first.address,
        accused: second.address,
        reason: 'because',
        publicKey: filled(32, 0),
      })
      expect(await statusesOf(id)).toEqual([5n])
      await refuses(second, 'complain', { id, accused: first.address, reason: '' }, 'the key is not being made')
    }
    const id = await active()
    await refuses(second, 'complain', { id, accused: first.address, reason: '' }, 'the key is not being made')
  })

  it('fails when the engines do not agree on the public key', async () => {
    const id = await shared()
    await contract.send(engines[0], 'confirm', { id, publicKey })
    await contract.send(engines[1], 'confirm', { id, publicKey: filled(32, 6) })
    expect(await keyOf(id)).toMatchObject({
      status: 5n,
      accuser: engines[1].address,
      reason: 'the engines do not agree on the public key',
    })
  })

  it('lets its owner alone change the policy, and disable the key for good', async () => {
    const id = await active()
    const changed = { signers: [], notAfter: 0n, sharesPerDay: 0n, prefix: filled(0, 0) }
    await refuses(stranger, 'setPolicy', { id, policy_: changed }, 'the sender is not the owner')
    await refuses(stranger, 'disable', id, 'the sender is not the owner')
    await refuses(owner, 'setPolicy', { id: 998n, policy_: changed }, 'there is no such key')
    await contract.send(owner, 'setPolicy', { id, policy_: changed })
    expect(await contract.ask('policy', id)).toEqual(changed)
    const many = { ...policy, signers: Array.from({ length: 65 }, () => stranger.address) }
    await refuses(owner, 'setPolicy', { id, policy_: many }, 'a policy has 64 signers at most')
    await contract.send(owner, 'disable', id)
    expect(await keyOf(id)).toMatchObject({ status: 6n, publicKey })
    await refuses(owner, 'disable', id, 'the key has failed or is disabled')
    await refuses(owner, 'setPolicy', { id, policy_: policy }, 'the key has failed or is disabled')
    await refuses(owner, 'createKey', { id, threshold: 2, policy_: policy }, 'the id is in use')
  })

  it('lets its owner give up a key that is being made', async () => {
    const [one, two] = [await created(), await created()]
    await contract.send(owner, 'disable', one)
    expect([await statusesOf(one), await statusesOf(two)]).toEqual([[6n], [1n]])
    await refuses(engines[0], 'publishCommitments', { id: one, package: round1 }, 'does not wait for commitments')
  })
})
