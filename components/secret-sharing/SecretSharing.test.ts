import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chains } from '../test/chains.ts'
import { type DeployedContract, deploy, type JsonRpc, party } from '../test/evm.ts'

const engines = [party(), party(), party()] as const
const [owner, stranger] = [party(), party()]
const commitments = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte))
const list = engines.map(({ address }, index) => ({ engine: address, endpoint: `http://127.0.0.1:${index + 1}` }))
const made = {
  engines: list,
  componentSha256: new Uint8Array(32).fill(7),
  componentUri: 'https://example.org/component.js',
}

interface Sharing {
  owner: string
  threshold: bigint
  commitments: Uint8Array[]
  uploaded: boolean[]
  downloadDeadline: bigint
  deleting: boolean
}

describe.each(chains)('the secret sharing contract on $name', ({ start }) => {
  let rpc: JsonRpc
  let stop: () => Promise<void>
  let contract: DeployedContract
  let last = 100n
  beforeAll(async () => {
    ;({ rpc, stop } = await start())
    contract = await deploy(rpc, 'SecretSharing', made)
  }, 60_000)
  afterAll(() => stop())

  const sharing = async (id: bigint): Promise<Sharing> => (await contract.ask('sharing', id)) as Sharing
  const registered = async (): Promise<bigint> => {
    const id = last++
    await contract.send(owner, 'registerSharing', { id, threshold: 2, commitments })
    return id
  }
  const uploaded = async (): Promise<bigint> => {
    const id = await registered()
    for (const engine of engines) await contract.send(engine, 'registerShared', id)
    return id
  }

  it('names its engines and its component', async () => {
    expect(await contract.ask('engines')).toEqual(list)
    expect(Object.values((await contract.ask('component')) as object)).toEqual([
      made.componentSha256,
      made.componentUri,
    ])
  })

  it.each([
    ['no engines', [], '1 to 255 engines are needed'],
    ['an engine twice', [list[0], list[0]], 'an engine is named twice'],
    ['an engine without an address', [{ engine: `0x${'0'.repeat(40)}`, endpoint: '' }], 'an engine has no address'],
  ])('cannot be made with %s', async (_, wrong, reason) => {
    await expect(deploy(rpc, 'SecretSharing', { ...made, engines: wrong })).rejects.toThrow(reason)
  })

  it('has nothing to say of a sharing that nobody registered', async () => {
    expect(await sharing(1n)).toEqual({
      owner: `0x${'0'.repeat(40)}`,
      threshold: 0n,
      commitments: [],
      uploaded: [],
      downloadDeadline: 0n,
      deleting: false,
    })
  })

  it('remembers who registered a sharing, and what was committed to', async () => {
    const found = await sharing(await registered())
    expect(found).toEqual({
      owner: owner.address,
      threshold: 2n,
      commitments,
      uploaded: [false, false, false],
      downloadDeadline: 0n,
      deleting: false,
    })
  })

  it('takes the largest id', async () => {
    const id = 2n ** 128n - 1n
    await contract.send(owner, 'registerSharing', { id, threshold: 1, commitments })
    expect((await sharing(id)).owner).toBe(owner.address)
  })

  it.each([
    ['too few commitments', { threshold: 1, commitments: commitments.slice(1) }, 'one commitment for each engine'],
    ['a threshold of 0', { threshold: 0, commitments }, 'the threshold is not between 1 and the number'],
    ['a threshold above the engines', { threshold: 4, commitments }, 'the threshold is not between 1 and the number'],
  ])('refuses %s', async (_, rest, reason) => {
    await expect(contract.send(owner, 'registerSharing', { id: 2n, ...rest })).rejects.toThrow(reason)
  })

  it('refuses an id that is in use', async () => {
    const id = await registered()
    const again = contract.send(stranger, 'registerSharing', { id, threshold: 2, commitments })
    await expect(again).rejects.toThrow('the id is in use')
  })

  it('hears from its engines alone that a share is there', async () => {
    const id = await registered()
    await expect(contract.send(owner, 'registerShared', id)).rejects.toThrow('the sender is none of the engines')
    await contract.send(engines[1], 'registerShared', id)
    expect((await sharing(id)).uploaded).toEqual([false, true, false])
    await contract.send(engines[1], 'registerShared', id)
    expect((await sharing(id)).uploaded).toEqual([false, true, false])
    await expect(contract.send(engines[0], 'registerShared', 3n)).rejects.toThrow('there is no such sharing')
  })

  it('hears of many shares at once, and leaves out what it would refuse', async () => {
    const [first, second, deleting] = [await registered(), await registered(), await uploaded()]
    await contract.send(owner, 'deleteSharing', deleting)
    const all = [first, 3n, deleting, second, first]
    await expect(contract.send(owner, 'registerAllShared', all)).rejects.toThrow('the sender is none of the engines')
    expect(await contract.ask('awaited', { engine: engines[1].address, ids: all })).toEqual([first, second, first])
    await contract.send(engines[1], 'registerAllShared', all)
    for (const id of [first, second]) expect((await sharing(id)).uploaded).toEqual([false, true, false])
    expect(await sharing(deleting)).toMatchObject({ uploaded: [true, true, true], deleting: true })
    expect(await contract.ask('awaited', { engine: engines[1].address, ids: all })).toEqual([])
    expect(await contract.ask('awaited', { engine: engines[0].address, ids: all })).toEqual([first, second, first])
    await contract.send(engines[1], 'registerAllShared', [])
    // It is counted once: the other two are still missing.
    for (const engine of [engines[0], engines[2]]) await contract.send(engine, 'registerAllShared', [first])
    await contract.send(owner, 'requestDownload', first)
    for (const engine of engines) await contract.send(engine, 'registerDeleted', deleting)
  })

  it('says to an engine what it has to know', async () => {
    const id = await registered()
    const ask = (of: string, which = id) => contract.ask('share', { id: which, engine: of })
    const nothing = { uploaded: false, downloadDeadline: 0n, deleting: false }
    await contract.send(engines[1], 'registerShared', id)
    expect(await ask(engines[0].address)).toEqual({ owner: owner.address, commitment: commitments[0], ...nothing })
    const second = { owner: owner.address, commitment: commitments[1], ...nothing, uploaded: true }
    expect(await ask(engines[1].address)).toEqual(second)
    const nobody = { owner: `0x${'0'.repeat(40)}`, commitment: new Uint8Array(32), ...nothing }
    expect(await ask(engines[2].address, 3n)).toEqual(nobody)
    await expect(ask(owner.address)).rejects.toThrow('that is none of the engines')
    for (const engine of [engines[0], engines[2]]) await contract.send(engine, 'registerShared', id)
    await contract.send(owner, 'requestDownload', id)
    const { downloadDeadline } = await sharing(id)
    expect(await ask(engines[1].address)).toEqual({ ...second, downloadDeadline })
    await contract.send(owner, 'deleteSharing', id)
    expect(await ask(engines[1].address)).toEqual({ ...second, deleting: true })
    for (const engine of engines) await contract.send(engine, 'registerDeleted', id)
  })

  it('opens the window for five minutes, when its owner asks and every engine has its share', async () => {
    const id = await registered()
    await contract.send(engines[0], 'registerShared', id)
    await contract.send(engines[1], 'registerShared', id)
    const refused = 'not every engine has its share yet'
    await expect(contract.send(owner, 'requestDownload', id)).rejects.toThrow(refused)
    await contract.send(engines[2], 'registerShared', id)
    await expect(contract.send(stranger, 'requestDownload', id)).rejects.toThrow('the sender is not the owner')
    await expect(contract.send(owner, 'requestDownload', 3n)).rejects.toThrow('there is no such sharing')
    await contract.send(owner, 'requestDownload', id)
    const block = (await rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
    expect((await sharing(id)).downloadDeadline).toBe(BigInt(block.timestamp) + 300n)
  })

  it('is rid of a sharing when every engine has said so, and not before', async () => {
    const id = await uploaded()
    await expect(contract.send(stranger, 'deleteSharing', id)).rejects.toThrow('the sender is not the owner')
    await expect(contract.send(engines[0], 'registerDeleted', id)).rejects.toThrow('nobody asked to delete')
    await contract.send(owner, 'requestDownload', id)
    await contract.send(owner, 'deleteSharing', id)
    expect(await contract.ask('deletionQueue')).toEqual([id])
    expect(await sharing(id)).toMatchObject({ deleting: true, downloadDeadline: 0n })
    await expect(contract.send(owner, 'registerDeleted', id)).rejects.toThrow('the sender is none of the engines')
    await contract.send(engines[2], 'registerDeleted', id)
    await contract.send(engines[2], 'registerDeleted', id)
    expect(await sharing(id)).toMatchObject({ uploaded: [true, true, false], deleting: true })
    await contract.send(engines[0], 'registerDeleted', id)
    await contract.send(engines[1], 'registerDeleted', id)
    expect(await sharing(id)).toMatchObject({ owner: `0x${'0'.repeat(40)}`, commitments: [] })
    expect(await contract.ask('deletionQueue')).toEqual([])
    await contract.send(owner, 'registerSharing', { id, threshold: 2, commitments })
  })

  it.each([
    ['requestDownload', owner],
    ['deleteSharing', owner],
    ['registerShared', engines[0]],
  ])('refuses %s of a sharing that is being deleted', async (method, from) => {
    const id = await uploaded()
    await contract.send(owner, 'deleteSharing', id)
    await expect(contract.send(from, method, id)).rejects.toThrow('the sharing is being deleted')
    for (const engine of engines) await contract.send(engine, 'registerDeleted', id)
  })

  it('deletes nothing of which not every engine has its share', async () => {
    const id = await registered()
    await expect(contract.send(owner, 'deleteSharing', id)).rejects.toThrow('not every engine has its share yet')
  })

  it('keeps the others in the queue when one leaves it', async () => {
    const ids = [await uploaded(), await uploaded(), await uploaded()]
    for (const id of ids) await contract.send(owner, 'deleteSharing', id)
    for (const engine of engines) await contract.send(engine, 'registerDeleted', ids[0])
    expect(new Set((await contract.ask('deletionQueue')) as bigint[])).toEqual(new Set(ids.slice(1)))
    for (const engine of engines) await contract.send(engine, 'registerDeleted', ids[2])
    expect(await contract.ask('deletionQueue')).toEqual([ids[1]])
    for (const engine of engines) await contract.send(engine, 'registerDeleted', ids[1])
    expect(await contract.ask('deletionQueue')).toEqual([])
  })
})
