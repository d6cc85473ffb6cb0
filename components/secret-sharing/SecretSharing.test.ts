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

function someEngine() {
  return { engine: party().address, endpoint: '' }
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
  })
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
  const ticketOf = async (id: bigint, of = contract): Promise<bigint> =>
    ((await of.ask('share', { id, engine: engines[0].address })) as { ticket: bigint }).ticket
  const toDelete = async (engine: { address: string }, most = 100n, of = contract): Promise<bigint[]> =>
    ((await of.ask('toDelete', { engine: engine.address, from: 0n, most })) as { tickets: bigint[] }).tickets

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
    ['more engines than it has bits for', Array.from({ length: 121 }, someEngine), '120 engines at most'],
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
    const [one, other] = [await ticketOf(first), await ticketOf(second)]
    const all = [one, 3n, (1n << 128n) | 3n, await ticketOf(deleting), other, one]
    await expect(contract.send(owner, 'registerAllShared', all)).rejects.toThrow('the sender is none of the engines')
    expect(await contract.ask('awaited', { engine: engines[1].address, tickets: all })).toEqual([one, other, one])
    await contract.send(engines[1], 'registerAllShared', all)
    for (const id of [first, second]) expect((await sharing(id)).uploaded).toEqual([false, true, false])
    expect(await sharing(deleting)).toMatchObject({ uploaded: [true, true, true], deleting: true })
    expect(await contract.ask('awaited', { engine: engines[1].address, tickets: all })).toEqual([])
    expect(await contract.ask('awaited', { engine: engines[0].address, tickets: all })).toEqual([one, other, one])
    await contract.send(engines[1], 'registerAllShared', [])
    // An engine that tells twice is counted once: the other two are still missing.
    for (const engine of [engines[0], engines[2]]) await contract.send(engine, 'registerAllShared', [one])
    await contract.send(owner, 'requestDownload', first)
    for (const engine of engines) await contract.send(engine, 'registerDeleted', deleting)
  })

  it('leaves out what was meant for an earlier registration, or for none', async () => {
    const id = await uploaded()
    const before = await ticketOf(id)
    expect(BigInt.asUintN(128, before)).toBe(id)
    await contract.send(owner, 'deleteSharing', id)
    expect(await ticketOf(id)).toBe(before)
    for (const engine of engines) await contract.send(engine, 'registerAllDeleted', [before])
    await contract.send(engines[0], 'registerAllShared', [before])
    expect(await sharing(id)).toMatchObject({ owner: `0x${'0'.repeat(40)}`, uploaded: [] })
    await contract.send(owner, 'registerSharing', { id, threshold: 2, commitments })
    const ticket = await ticketOf(id)
    expect([BigInt.asUintN(128, ticket), ticket === before]).toEqual([id, false])
    const others = [before, id, ticket ^ (1n << 192n)]
    expect(await contract.ask('awaited', { engine: engines[0].address, tickets: [...others, ticket] })).toEqual([
      ticket,
    ])
    await contract.send(engines[0], 'registerAllShared', others)
    expect((await sharing(id)).uploaded).toEqual([false, false, false])
    for (const engine of engines) await contract.send(engine, 'registerAllShared', [ticket])
    await contract.send(engines[0], 'registerAllDeleted', [ticket])
    expect((await sharing(id)).uploaded).toEqual([true, true, true])
    await contract.send(owner, 'deleteSharing', id)
    await contract.send(engines[0], 'registerAllDeleted', others)
    expect((await sharing(id)).uploaded).toEqual([true, true, true])
    await contract.send(engines[0], 'registerAllDeleted', [...others, ticket, ticket])
    await contract.send(engines[0], 'registerAllShared', [ticket])
    expect((await sharing(id)).uploaded).toEqual([false, true, true])
    await expect(contract.send(owner, 'registerAllDeleted', [ticket])).rejects.toThrow(
      'the sender is none of the engines',
    )
    for (const engine of engines) await contract.send(engine, 'registerAllDeleted', [ticket])
    expect((await sharing(id)).uploaded).toEqual([])
  })

  it('says to an engine what it has to know', async () => {
    const id = await registered()
    const ask = (of: string, which = id) => contract.ask('share', { id: which, engine: of })
    const nothing = { uploaded: false, downloadDeadline: 0n, deleting: false, ticket: await ticketOf(id) }
    await contract.send(engines[1], 'registerShared', id)
    expect(await ask(engines[0].address)).toEqual({ owner: owner.address, commitment: commitments[0], ...nothing })
    const second = { owner: owner.address, commitment: commitments[1], ...nothing, uploaded: true }
    expect(await ask(engines[1].address)).toEqual(second)
    const nobody = { owner: `0x${'0'.repeat(40)}`, commitment: new Uint8Array(32), ...nothing, ticket: 0n }
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
    const waiting = [await ticketOf(id)]
    for (const engine of engines) expect(await toDelete(engine)).toEqual(waiting)
    expect(await sharing(id)).toMatchObject({ deleting: true, downloadDeadline: 0n })
    await expect(contract.send(owner, 'registerDeleted', id)).rejects.toThrow('the sender is none of the engines')
    await contract.send(engines[2], 'registerDeleted', id)
    await contract.send(engines[2], 'registerDeleted', id)
    expect(await sharing(id)).toMatchObject({ uploaded: [true, true, false], deleting: true })
    expect([await toDelete(engines[1]), await toDelete(engines[2])]).toEqual([waiting, []])
    await contract.send(engines[0], 'registerDeleted', id)
    await contract.send(engines[1], 'registerDeleted', id)
    expect(await sharing(id)).toMatchObject({ owner: `0x${'0'.repeat(40)}`, commitments: [] })
    for (const engine of engines) expect(await toDelete(engine)).toEqual([])
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

  it.each([[1], [2], [3]])(
    'says to each engine what is still for it to delete, in whatever order it does (%s)',
    async (seed) => {
      const random = numbers(seed)
      const ids = Array.from({ length: 12 }, (_, at) => BigInt(seed * 1000 + at))
      const left = engines.map((): bigint[] => [])
      const begin = async (id: bigint) => {
        await contract.send(owner, 'registerSharing', { id, threshold: 2, commitments })
        for (const engine of engines) await contract.send(engine, 'registerShared', id)
        await contract.send(owner, 'deleteSharing', id)
        const ticket = await ticketOf(id)
        for (const each of left) each.push(ticket)
      }
      for (const id of ids.slice(0, 6)) await begin(id)
      for (const id of ids.slice(6)) {
        for (let times = 0; times < 4; times++) {
          const index = random(3)
          const [engine, mine] = [engines[index], left[index]] as [(typeof engines)[number], bigint[]]
          const done = mine.splice(random(mine.length || 1), 1 + random(2))
          await contract.send(engine, 'registerAllDeleted', done.reverse())
        }
        await begin(id)
        const free = ids.find((each) =>
          left.every((mine) => mine.every((ticket) => BigInt.asUintN(128, ticket) !== each)),
        )
        if (free !== undefined && free < id) await begin(free)
        for (const [index, engine] of engines.entries()) {
          expect(await toDelete(engine)).toEqual(left[index])
          expect(await toDelete(engine, 2n)).toEqual(left[index]?.slice(0, 2))
        }
      }
      expect(await toDelete(engines[0], 0n)).toEqual([])
      expect(await toDelete(engines[0], 2n ** 256n - 1n)).toEqual(left[0])
      for (const [index, engine] of engines.entries()) await contract.send(engine, 'registerAllDeleted', left[index])
      for (const engine of engines) expect(await toDelete(engine)).toEqual([])
      for (const id of ids) expect((await sharing(id)).commitments).toEqual([])
    },
  )

  it('says what is behind what it said before, and leaves out what an engine has said meanwhile', async () => {
    const ids = [await uploaded(), await uploaded(), await uploaded(), await uploaded()]
    for (const id of ids) await contract.send(owner, 'deleteSharing', id)
    const tickets = await Promise.all(ids.map((id) => ticketOf(id)))
    const page = async (from: bigint, most = 2n) =>
      (await contract.ask('toDelete', { engine: engines[0].address, from, most })) as {
        tickets: bigint[]
        next: bigint
      }
    const first = await page(0n)
    expect(first.tickets).toEqual(tickets.slice(0, 2))
    const second = await page(first.next, 3n)
    expect(second.tickets).toEqual(tickets.slice(2))
    expect(await page(second.next)).toEqual({ tickets: [], next: second.next })
    await contract.send(engines[0], 'registerAllDeleted', tickets.slice(0, 3))
    expect((await page(first.next)).tickets).toEqual(tickets.slice(3))
    expect((await page(0n)).tickets).toEqual(tickets.slice(3))
    expect((await page(1n << 200n)).tickets).toEqual([])
    for (const engine of engines) await contract.send(engine, 'registerAllDeleted', tickets)
  })

  it('asks as much gas of the engine that deletes last as of any other', async () => {
    const ids = [await uploaded(), await uploaded()]
    const tickets = await Promise.all(ids.map((id) => ticketOf(id)))
    for (const id of ids) await contract.send(owner, 'deleteSharing', id)
    const data = contract.encode('registerAllDeleted', tickets)
    const gas = async () =>
      Number(await rpc('eth_estimateGas', [{ from: engines[0].address, to: contract.address, data }]))
    const before = await gas()
    for (const engine of [engines[1], engines[2]]) await contract.send(engine, 'registerAllDeleted', tickets)
    expect((await gas()) / before).toBeLessThan(1.02)
    await contract.send(engines[0], 'registerAllDeleted', tickets)
    for (const id of ids) expect(await sharing(id)).toMatchObject({ threshold: 0n, commitments: [], uploaded: [] })
  })

  it('says what is to be deleted to engines alone', async () => {
    await expect(toDelete(owner)).rejects.toThrow('that is none of the engines')
  })

  it('asks no more gas of one engine, however much another has still to delete', async () => {
    const own = await deploy(rpc, 'SecretSharing', made)
    const gas = async (from: { address: string }, method: string, args: unknown) =>
      Number(await rpc('eth_estimateGas', [{ from: from.address, to: own.address, data: own.encode(method, args) }]))
    const begun = async () => {
      const id = last++
      await own.send(owner, 'registerSharing', { id, threshold: 2, commitments })
      for (const engine of engines) await own.send(engine, 'registerShared', id)
      await own.send(owner, 'deleteSharing', id)
      return ticketOf(id, own)
    }
    const measured = async () => {
      const asked = await gas(owner, 'toDelete', { engine: engines[0].address, from: 0n, most: 8n })
      const [ticket, next] = [await begun(), await begun()]
      const said = await gas(engines[0], 'registerAllDeleted', [next])
      await own.send(engines[0], 'registerAllDeleted', [next])
      await own.send(engines[0], 'registerAllDeleted', [ticket])
      return { asked, said }
    }
    await measured()
    const before = await measured()
    for (let times = 0; times < 10; times++) await measured()
    const after = await measured()
    expect(await toDelete(engines[1], 100n, own)).toHaveLength(26)
    // Longer numbers take some more in the data of a transaction.
    expect(Math.abs(after.asked - before.asked)).toBeLessThan(100)
    expect(Math.abs(after.said - before.said)).toBeLessThan(100)
  })
})

/** Numbers below what is asked for, the same for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 16) % below
  }
}
