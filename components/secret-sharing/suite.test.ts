/** Tests the secret sharing component with its contract on a chain. */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { chains } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, type JsonRpc, party } from '../test/evm.ts'
import { inRuntime, scriptOf } from '../test/in-runtime.ts'

const engines = [party(), party(), party()] as const
const [owner, stranger] = [party(), party()]
const list = engines.map(({ address }) => ({ engine: address, endpoint: '' }))
const [RESEND, RESEND_TIMER] = [60_000, 1]
const COLLECTED_TIMER = 2
const DELETION_TIMER = 3

const hash = (share: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(share).digest())
const share = (size = 48): Uint8Array => new Uint8Array(randomBytes(size))
const failure = (sentence: string): string => `{ "error": "${sentence}" }`

describe.each(chains)('the secret sharing component on $name', ({ start }) => {
  let rpc: JsonRpc
  const stops: (() => Promise<void>)[] = []
  let contract: DeployedContract
  let devices: readonly Device[]
  let lastId = 0n
  /** Questions of components to the contract. */
  let reads = 0
  /** The block at which components read the contract; the latest, unless it is set. */
  let seenBlock: string | undefined

  beforeAll(async () => {
    const running = await start()
    const { run, stop, authorize } = await inRuntime(await scriptOf('secret-sharing'))
    stops.push(running.stop, stop)
    rpc = running.rpc
    const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
    contract = await deploy(rpc, 'SecretSharing', made)
    const counting = {
      ...contract,
      askRaw: (data: Uint8Array) => {
        reads++
        return seenBlock === undefined ? contract.askRaw(data) : askAt(seenBlock, data)
      },
    }
    devices = engines.map((engine) => device(run, counting, engine, authorize))
  }, 600_000)
  afterAll(() => Promise.all(stops.map((stop) => stop())))
  beforeEach(() => {
    for (const one of devices) {
      one.sent.length = 0
      one.failed.length = 0
      one.ahead = 0
      one.lagMs = 0
      one.offline = false
    }
    seenBlock = undefined
  })

  const askAt = async (block: string, data: Uint8Array): Promise<Uint8Array> => {
    const call = { to: contract.address, data: `0x${Buffer.from(data).toString('hex')}` }
    return new Uint8Array(Buffer.from(((await rpc('eth_call', [call, block])) as string).slice(2), 'hex'))
  }
  const collectedMs = (): number => 500 + Number.parseInt(contract.address.slice(-2), 16)
  const one = (index = 0): Device => devices[index] as Device
  const registered = async (shares = [share(), share(), share()], id = ++lastId) => {
    await contract.send(owner, 'registerSharing', { id, threshold: 2, commitments: shares.map(hash) })
    return { id, shares, uri: `/shares/${id}` }
  }
  const uploaded = async () => {
    const sharing = await registered()
    for (const [index, body] of sharing.shares.entries()) {
      expect(await one(index).http('PUT', sharing.uri, { body, as: owner })).toMatchObject({ status: 201 })
      await one(index).timer(COLLECTED_TIMER)
    }
    return sharing
  }
  const put = async (count: number, device = one()) => {
    const ids: bigint[] = []
    for (let n = 0; n < count; n++) {
      const { id, uri, shares } = await registered()
      expect(await device.http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })).toMatchObject({ status: 201 })
      ids.push(id)
    }
    return ids
  }
  /** Deletes as many sharings, of which the contract believes every engine to hold its share. */
  const deleting = async (count: number) => {
    const ids: bigint[] = []
    for (let n = 0; n < count; n++) ids.push((await registered()).id)
    const tickets = await Promise.all(ids.map(ticketOf))
    for (const engine of engines) await contract.send(engine, 'registerAllShared', tickets)
    for (const id of ids) await contract.send(owner, 'deleteSharing', id)
    return ids
  }
  const ticketOf = async (id: bigint) =>
    ((await contract.ask('share', { id, engine: engines[0].address })) as { ticket: bigint }).ticket
  const heard = async (ids: readonly bigint[]) => {
    const states = await Promise.all(ids.map(stateOf))
    return states.map(({ uploaded: [first] }) => first)
  }
  /** Moves the clocks on until the engines are done with everything that earlier tests left. */
  const quiet = async (times: number) => {
    for (const each of devices) each.ahead = times * RESEND
    for (const each of devices) {
      await each.timer(COLLECTED_TIMER)
      each.ahead += 2 * RESEND
      while (each.timers.has(RESEND_TIMER)) await each.timer(RESEND_TIMER)
      each.sent.length = 0
    }
  }
  const stateOf = async (id: bigint) =>
    (await contract.ask('sharing', id)) as { uploaded: boolean[]; downloadDeadline: bigint }
  const toDelete = () =>
    Promise.all(
      engines.map(async ({ address }) => {
        const asked = { engine: address, from: 0n, most: 100n }
        return ((await contract.ask('toDelete', asked)) as { tickets: bigint[] }).tickets
      }),
    )

  it('stores a share, says so to the contract, and gives it back in the window', async () => {
    const { id, shares, uri } = await uploaded()
    expect((await stateOf(id)).uploaded).toEqual([true, true, true])
    await contract.send(owner, 'requestDownload', id)
    for (const index of [0, 1, 2]) {
      const answer = await one(index).http('GET', uri, { as: owner })
      expect(answer).toMatchObject({ status: 200, body: shares[index] })
    }
  })

  it('answers an upload with 201 and nothing else', async () => {
    const { shares, uri } = await registered()
    expect(await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })).toMatchObject({
      status: 201,
      text: '',
      headers: {},
    })
  })

  it.each([
    ['/'],
    [''],
    ['/shares'],
    ['/shares/'],
    ['/shares/1/2'],
    ['/shares/1/'],
    ['/Shares/1'],
    ['//shares/1'],
    ['/shares/1?download=1'],
    ['/other/1'],
  ])('answers 404 for %s, which is no path of its own', async (uri) => {
    for (const method of ['GET', 'PUT', 'PATCH']) {
      const answer = await one().http(method, uri, { as: owner })
      expect(answer).toMatchObject({ status: 404, text: failure('Invalid URL') })
    }
  })

  it.each([['POST'], ['DELETE'], ['PATCH'], ['get']])('answers 405 for %s', async (method) => {
    const { uri } = await registered()
    expect(await one().http(method, uri, { as: owner })).toMatchObject({ status: 405, text: failure('Invalid method') })
  })

  it.each([
    ['a word', 'secret'],
    ['a sign', '+1'],
    ['a minus', '-1'],
    ['a leading zero', '01'],
    ['hexadecimal', '0x1'],
    ['a fraction', '1.0'],
    ['an escape', '%31'],
    ['other digits', '١'],
    ['2^128', String(2n ** 128n)],
    ['more than 2^128', '9'.repeat(39)],
    ['very many digits', '1'.repeat(5000)],
  ])('answers 400 for an id that is %s', async (_, id) => {
    const answer = await one().http('GET', `/shares/${id}`, { as: owner })
    expect(answer).toMatchObject({ status: 400, text: failure('Malformed request') })
  })

  it.each([[2n ** 128n - 1n], [0n], [2n ** 64n]])('knows the sharing %s', async (id) => {
    const { uri, shares } = await registered(undefined, id)
    expect(await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })).toMatchObject({ status: 201 })
  })

  it('answers 404 for a sharing that nobody registered, whoever asks', async () => {
    const answer = { status: 404, text: failure('Unknown sharing') }
    expect(await one().http('GET', '/shares/4711', { as: owner })).toMatchObject(answer)
    expect(await one().http('PUT', '/shares/4711', { body: share() })).toMatchObject(answer)
  })

  it('answers 401 for whoever is not the owner, and for nobody', async () => {
    const { uri, shares } = await registered()
    const answer = { status: 401, text: failure('Unauthorized') }
    for (const method of ['GET', 'PUT']) {
      const body = method === 'PUT' ? (shares[0] as Uint8Array) : ''
      expect(await one().http(method, uri, { body, as: stranger })).toMatchObject(answer)
      expect(await one().http(method, uri, { body })).toMatchObject(answer)
    }
  })

  it('asks who it is before it looks at the share', async () => {
    const { uri } = await registered()
    expect(await one().http('PUT', uri, { body: 'short', as: stranger })).toMatchObject({ status: 401 })
  })

  it('answers 400 for a share of less than 32 bytes, before it compares commitments', async () => {
    const short = share(31)
    const { uri } = await registered([short, share(), share()])
    const answer = { status: 400, text: failure('Malformed request') }
    expect(await one().http('PUT', uri, { body: short, as: owner })).toMatchObject(answer)
    expect(await one().http('PUT', uri, { body: '', as: owner })).toMatchObject(answer)
  })

  it('takes a share of 32 bytes, and one of many', async () => {
    for (const size of [32, 55, 56, 63, 64, 65, 119, 120, 100_000]) {
      const body = share(size)
      const { uri } = await registered([body, share(), share()])
      expect(await one().http('PUT', uri, { body, as: owner })).toMatchObject({ status: 201 })
    }
  })

  it('takes as many bytes as an engine stores with what it knows of them, and answers 413 for more', async () => {
    const [most, more] = [1_048_459, 1_048_460]
    const { uri, shares } = await registered([share(most), share(), share()])
    const stored = { body: shares[0] as Uint8Array, as: owner }
    expect(await one().http('PUT', uri, stored)).toMatchObject({ status: 201 })
    const { uri: larger, shares: others } = await registered([share(more), share(), share()])
    const refused = { body: others[0] as Uint8Array, as: owner }
    const sentence = failure('A share has 1048459 bytes at most')
    expect(await one().http('PUT', larger, refused)).toMatchObject({ status: 413, text: sentence })
  })

  it('answers 401 for a share that is not what was committed to, also when it is that of another engine', async () => {
    const { uri, shares, id } = await registered()
    const answer = { status: 401, text: failure("User uploaded data doesn't match commitment") }
    expect(await one().http('PUT', uri, { body: share(), as: owner })).toMatchObject(answer)
    expect(await one(0).http('PUT', uri, { body: shares[1] as Uint8Array, as: owner })).toMatchObject(answer)
    expect((await stateOf(id)).uploaded).toEqual([false, false, false])
    expect(one().sent).toEqual([])
  })

  it('answers the same upload as it did the first, and tells the contract no more', async () => {
    const { uri, shares } = await registered()
    const again = () => one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    expect(await again()).toMatchObject({ status: 201, text: '' })
    expect(await again()).toMatchObject({ status: 201, text: '' })
    await one().timer(COLLECTED_TIMER)
    expect(await again()).toMatchObject({ status: 201, text: '' })
    await one().timer(COLLECTED_TIMER)
    expect(one().sent).toHaveLength(1)
  })

  it('tells the contract again when a repeated upload finds that it does not know: a minute later, and no sooner', async () => {
    const { uri, shares, id } = await registered()
    const again = () => one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    one().offline = true
    await again()
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    const told = one().sent.length
    for (let times = 0; times < 3; times++) {
      expect(await again()).toMatchObject({ status: 201 })
      expect(one().timers.has(COLLECTED_TIMER)).toBe(false)
    }
    expect(one().sent).toHaveLength(told)
    one().ahead += RESEND + 1000
    await again()
    await one().timer(COLLECTED_TIMER)
    expect((await stateOf(id)).uploaded).toEqual([true, false, false])
  })

  it('answers 409 for another upload under the same id', async () => {
    const { uri, shares } = await registered()
    await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    const answer = await one().http('PUT', uri, { body: share(), as: owner })
    expect(answer).toMatchObject({ status: 409, text: failure('Already stored') })
  })

  it('takes little time for a large share, be it new, repeated, wrong or another', async () => {
    const [large, other] = [share(1_000_000), share(1_000_000)]
    const { uri } = await registered([large, share(), share()])
    const put = async (body: Uint8Array, status: number): Promise<void> =>
      expect(await one().http('PUT', uri, { body, as: owner })).toMatchObject({ status })
    expect(await partOfLimit(400, () => put(other, 401))).toBeLessThan(1)
    expect(await partOfLimit(400, () => put(large, 201))).toBeLessThan(1)
    expect(await partOfLimit(400, () => put(large, 201))).toBeLessThan(1)
    expect(await partOfLimit(400, () => put(other, 409))).toBeLessThan(1)
  })

  it('answers 400 for a download outside the window, by whichever clock is ahead', async () => {
    const { uri, id } = await uploaded()
    const sentence = 'Download not requested, or download deadline has been passed'
    const answer = { status: 400, text: failure(sentence) }
    expect(await one().http('GET', uri, { as: owner })).toMatchObject(answer)
    await contract.send(owner, 'requestDownload', id)
    const { downloadDeadline } = await stateOf(id)
    const left = Number(downloadDeadline) * 1000 - Date.now()
    one().ahead = left - 10_000
    expect(await one().http('GET', uri, { as: owner })).toMatchObject({ status: 200 })
    one().ahead = left + 1000
    expect(await one().http('GET', uri, { as: owner })).toMatchObject(answer)
    await contract.send(owner, 'requestDownload', id)
    one().ahead = 0
    expect(await one().http('GET', uri, { as: owner })).toMatchObject({ status: 200 })
  })

  it('forgets what is to be deleted, and says so', async () => {
    const { id, uri } = await uploaded()
    await contract.send(owner, 'requestDownload', id)
    await contract.send(owner, 'deleteSharing', id)
    expect(await one().http('GET', uri, { as: owner })).toMatchObject({ status: 404, text: failure('Unknown sharing') })
    const name = `SHARES/${id.toString(16).padStart(32, '0')}`
    expect(one().storage.has(name)).toBe(true)
    for (const each of devices) await each.stateChange()
    for (const each of devices) expect(each.storage.has(name)).toBe(false)
    expect(await toDelete()).toEqual([[], [], []])
    for (const each of devices) expect(each.failed).toEqual([])
  })

  it('says once that a share is gone, and again a minute later when nobody heard it', async () => {
    const { id } = await uploaded()
    await contract.send(owner, 'deleteSharing', id)
    one().sent.length = 0
    one().offline = true
    await one().stateChange()
    one().offline = false
    await one().stateChange()
    expect(one().sent).toHaveLength(1)
    expect(one().timers.get(DELETION_TIMER)).toBeGreaterThan(0)
    one().ahead += RESEND + 1000
    await one().timer(DELETION_TIMER)
    await one().stateChange()
    expect(one().sent).toHaveLength(2)
    expect((await stateOf(id)).uploaded).toEqual([false, true, true])
    for (const each of devices) await each.stateChange()
  })

  it('takes no share for a sharing that is being deleted', async () => {
    const { id, uri, shares } = await uploaded()
    await contract.send(owner, 'deleteSharing', id)
    const answer = await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    expect(answer).toMatchObject({ status: 404, text: failure('Unknown sharing') })
    for (const each of devices) await each.stateChange()
  })

  it('deletes a few of many at a time, and all of them in the end', async () => {
    await deleting(33)
    await one().stateChange()
    // The first, an offset, the number of tickets, and these.
    expect(one().sent.map(({ length }) => length)).toEqual([4 + (2 + 32) * 32])
    for (const each of devices) await each.stateChange()
    for (const each of devices) await each.stateChange()
    expect(await toDelete()).toEqual([[], [], []])
  })

  it('tells the contract of many shares at once, when it has collected them for a moment', async () => {
    await quiet(10)
    const ids = await put(3)
    expect(one().sent).toHaveLength(0)
    expect(one().timers.get(COLLECTED_TIMER)).toBe(collectedMs())
    expect(await heard(ids)).toEqual([false, false, false])
    await one().timer(COLLECTED_TIMER)
    expect(await heard(ids)).toEqual([true, true, true])
    expect(one().sent).toHaveLength(1)
    await one().timer(COLLECTED_TIMER)
    expect(one().sent).toHaveLength(1)
  })

  it('does not wait when it has collected as many as go into one transaction', async () => {
    await quiet(20)
    const ids = await put(65)
    expect(one().sent).toHaveLength(1)
    expect(await heard(ids)).toEqual([...ids.slice(1).map(() => true), false])
    expect(one().timers.get(COLLECTED_TIMER)).toBe(collectedMs())
    await one().timer(COLLECTED_TIMER)
    expect(await heard(ids)).toEqual(ids.map(() => true))
  })

  it('tells the contract of the others when a sharing is being deleted meanwhile', async () => {
    const { id, uri, shares } = await registered()
    const others = await put(2)
    await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    for (const engine of engines) await contract.send(engine, 'registerShared', id)
    await contract.send(owner, 'deleteSharing', id)
    await one().timer(COLLECTED_TIMER)
    expect(await heard([...others, id])).toEqual([true, true, true])
    expect(one().failed).toEqual([])
    for (const each of devices) await each.stateChange()
    expect(await toDelete()).toEqual([[], [], []])
  })

  it('tells the contract of what was collected on a change of it, when the timer was lost', async () => {
    await quiet(30)
    const ids = await put(2)
    await one().stateChange()
    expect(one().sent).toHaveLength(0)
    one().ahead += RESEND + 1000
    await one().stateChange()
    expect(one().sent).toHaveLength(1)
    expect(await heard(ids)).toEqual([true, true])
    one().ahead += RESEND + 1000
    const [next] = await put(1)
    one().ahead += RESEND + 1000
    expect(await heard([...(await put(1)), next as bigint])).toEqual([true, true])
  })

  it('tells the contract when the same share is uploaded again, a minute after the timer was lost', async () => {
    await quiet(36)
    const { id, uri, shares } = await registered()
    const upload = () => one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    await upload()
    await upload()
    expect(one().sent).toHaveLength(0)
    one().ahead += RESEND + 1000
    expect(await upload()).toMatchObject({ status: 201 })
    expect(one().sent).toHaveLength(1)
    expect(await heard([id])).toEqual([true])
  })

  it('tells the contract once more, a minute after a transaction was lost, of what it has not heard since', async () => {
    await quiet(40)
    one().offline = true
    const ids = await put(3)
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    expect(one().timers.get(RESEND_TIMER)).toBe(RESEND)
    await contract.send(engines[0], 'registerShared', ids[1])
    await one().timer(RESEND_TIMER)
    expect(await heard(ids)).toEqual([false, true, false])
    one().ahead += RESEND + 1000
    await one().timer(RESEND_TIMER)
    expect(await heard(ids)).toEqual([true, true, true])
    expect(one().timers.get(RESEND_TIMER)).toBe(RESEND)
    one().ahead += RESEND + 1000
    await one().timer(RESEND_TIMER)
    expect(one().timers.has(RESEND_TIMER)).toBe(false)
    expect(one().sent).toHaveLength(2)
    // The first, an offset, the number of tickets, and those of which it had not heard.
    expect(one().sent[1]).toHaveLength(4 + 4 * 32)
    expect([...one().storage.keys()].filter((name) => name.startsWith('UNCONFIRMED/'))).toHaveLength(1)
  })

  it('does not say that it holds a share of a sharing that was deleted and registered anew within a minute', async () => {
    await quiet(42)
    const { id } = await uploaded()
    expect(one().timers.has(RESEND_TIMER)).toBe(true)
    await contract.send(owner, 'deleteSharing', id)
    for (const each of devices) await each.stateChange()
    await registered([share(), share(), share()], id)
    one().ahead += RESEND + 1000
    await one().timer(RESEND_TIMER)
    expect(await heard([id])).toEqual([false])
    expect(one().timers.has(RESEND_TIMER)).toBe(false)
    expect(one().failed).toEqual([])
  })

  it('does not say that it holds a share of a sharing that was registered anew while the transaction waited', async () => {
    await quiet(44)
    const { id, uri, shares } = await registered()
    one().offline = true
    await one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    const waiting = one().sent.at(-1) as Uint8Array
    for (const engine of engines) await contract.send(engine, 'registerShared', id)
    await contract.send(owner, 'deleteSharing', id)
    for (const each of devices) await each.stateChange()
    await registered([share(), share(), share()], id)
    await contract.sendRaw(engines[0], waiting)
    expect(await heard([id])).toEqual([false])
  })

  it('does not say that a share is gone of a sharing that was registered anew while the transaction waited', async () => {
    const { id, shares, uri } = await uploaded()
    await contract.send(owner, 'deleteSharing', id)
    one().sent.length = 0
    one().offline = true
    await one().stateChange()
    one().offline = false
    const waiting = one().sent.at(-1) as Uint8Array
    one().ahead = RESEND + 1000
    for (const each of devices) await each.stateChange()
    one().ahead = 0
    await registered(shares, id)
    for (const [index, body] of shares.entries()) {
      expect(await one(index).http('PUT', uri, { body, as: owner })).toMatchObject({ status: 201 })
      await one(index).timer(COLLECTED_TIMER)
    }
    await contract.send(owner, 'deleteSharing', id)
    await contract.sendRaw(engines[0], waiting)
    expect(await heard([id])).toEqual([true])
    for (const each of devices) await each.stateChange()
    expect(one().storage.has(`SHARES/${id.toString(16).padStart(32, '0')}`)).toBe(false)
    expect((await stateOf(id)).uploaded).toEqual([])
  })

  it('looks after many lost transactions a few at a time, and all of them in the end', async () => {
    await quiet(50)
    one().offline = true
    const ids: bigint[] = []
    for (let n = 0; n < 9; n++) {
      ids.push(...(await put(1)))
      await one().timer(COLLECTED_TIMER)
    }
    one().offline = false
    one().sent.length = 0
    one().ahead += RESEND + 1000
    await one().timer(RESEND_TIMER)
    expect(one().sent).toHaveLength(7)
    expect(one().timers.get(RESEND_TIMER)).toBe(0)
    await one().timer(RESEND_TIMER)
    expect(await heard(ids)).toEqual(ids.map(() => true))
  })

  it('looks after a lost transaction on a change of the contract too', async () => {
    await quiet(60)
    one().offline = true
    const ids = await put(1)
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    one().ahead += 2 * RESEND
    await one().stateChange()
    expect(await heard(ids)).toEqual([true])
  })

  it('asks no more of the contract, however much another engine has still to delete', async () => {
    await quiet(80)
    const ids = await deleting(12)
    while ((await heard(ids)).some((each) => each)) await one().stateChange()
    const [before, sent] = [reads, one().sent.length]
    await one().stateChange()
    expect(reads - before).toBe(1)
    expect(one().sent).toHaveLength(sent)
    for (const index of [1, 2]) for (let times = 0; times < 2; times++) await one(index).stateChange()
    expect(await toDelete()).toEqual([[], [], []])
  })

  it.each([0, 144_000, 768_000])('sends one transaction for an upload, which it sees %i ms later', async (lagMs) => {
    await quiet(100)
    one().lagMs = lagMs
    const { id, uri, shares } = await registered()
    const upload = () => one().http('PUT', uri, { body: shares[0] as Uint8Array, as: owner })
    await upload()
    seenBlock = (await rpc('eth_blockNumber', [])) as string
    await one().timer(COLLECTED_TIMER)
    expect(one().timers.get(RESEND_TIMER)).toBe(lagMs + RESEND)
    one().ahead += lagMs + RESEND - 5000
    await one().stateChange()
    await upload()
    await one().timer(COLLECTED_TIMER)
    seenBlock = undefined
    one().ahead += 10_000
    await one().timer(RESEND_TIMER)
    expect(one().sent).toHaveLength(1)
    expect(one().timers.has(RESEND_TIMER)).toBe(false)
    expect(await heard([id])).toEqual([true])
  })

  it.each([0, 144_000, 768_000])('sends one transaction for a deletion, which it sees %i ms later', async (lagMs) => {
    await quiet(100)
    await deleting(1)
    for (const each of devices.slice(1)) await each.stateChange()
    one().lagMs = lagMs
    seenBlock = (await rpc('eth_blockNumber', [])) as string
    await one().stateChange()
    expect(one().timers.get(DELETION_TIMER)).toBe(lagMs + RESEND)
    one().ahead += lagMs + RESEND - 5000
    await one().stateChange()
    seenBlock = undefined
    one().ahead += 10_000
    await one().timer(DELETION_TIMER)
    expect(one().sent).toHaveLength(1)
    expect(await toDelete()).toEqual([[], [], []])
  })

  it('waits a quarter of an hour longer at most where no block has come for long', async () => {
    await quiet(100)
    one().lagMs = 86_400_000
    one().offline = true
    const ids = await put(1)
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    expect(one().timers.get(RESEND_TIMER)).toBe(900_000 + RESEND)
    one().ahead += 900_000 + RESEND + 1000
    await one().timer(RESEND_TIMER)
    expect(await heard(ids)).toEqual([true])
  })

  it('waits for no clock that was set back to be again where it was', async () => {
    await quiet(100)
    one().offline = true
    one().ahead += 3_600_000
    const ids = await put(1)
    await one().timer(COLLECTED_TIMER)
    ids.push(...(await put(1)))
    one().offline = false
    one().ahead -= 3_600_000
    await one().stateChange()
    expect(await heard(ids)).toEqual([true, true])
  })

  it('looks after lost transactions before it deletes', async () => {
    await quiet(300)
    const { id } = await uploaded()
    one().offline = true
    const ids = await put(1)
    await one().timer(COLLECTED_TIMER)
    one().offline = false
    const lost = one().sent.at(-1)
    await contract.send(owner, 'deleteSharing', id)
    one().ahead += RESEND + 1000
    one().sent.length = 0
    await one().stateChange()
    expect(one().sent).toHaveLength(2)
    expect(one().sent[0]).toEqual(lost)
    expect(await heard(ids)).toEqual([true])
    for (const each of devices) await each.stateChange()
  })
})
