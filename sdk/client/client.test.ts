/** The client with three engines over HTTP, on a local chain, of which some misbehave. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ChainError } from '../../src/chain/chain.ts'
import { evmAddress } from '../../src/offchain/address.ts'
import { filesBelow } from '../../test/support/command.ts'
import type { Misbehaviour } from '../../test/support/misbehaviour.ts'
import { behave, forgetDeleted, type SharingEngines, startSharingEngines } from '../../test/support/sharing-engines.ts'
import { downloadSecret } from './download.ts'
import { type EngineClient, engineClient } from './engine-client.ts'
import { ClientError, type EngineError } from './errors.ts'
import { nodeChain } from './node-chain.ts'
import { deleteSecret, parseSharingId, type SecretSharing, sharingStatus } from './secret-sharing.ts'
import { keySigner } from './signers.ts'
import { signingEngines } from './signing-engines.ts'
import { accountTransactor } from './transactor.ts'
import { prepareUpload, type Upload, upload } from './upload.ts'

const random = (bytes: number): Uint8Array => new Uint8Array(randomBytes(bytes))
const now = () => new Date()
/** Waits a tenth of the time, because the chain and the engines need some while they are asked again and again. */
const wait = (ms: number) => setTimeout(ms / 10)
const secret = new TextEncoder().encode('the combination is 12-34-56')

let world: SharingEngines
let client: EngineClient
let owner: SecretSharing

beforeAll(async () => {
  world = await startSharingEngines(3)
})
afterAll(() => world.stop())
beforeEach(() => {
  for (const engine of world.engines) behave(engine, 'none')
  client = clientWith()
  owner = somebody()
})

function clientWith(options: Partial<Parameters<typeof engineClient>[0]> = {}): EngineClient {
  const { chain, contract } = world
  return engineClient({ chain, contract, fetch, now, random, wait, deadlineMs: 300_000, ...options })
}

function somebody(key = random(32).with(0, 1), profile?: 'secp256k1'): SecretSharing {
  const transactor = accountTransactor(world.chain, key, { now, wait })
  return { client, signer: keySigner(key, 'evm', profile), transactor, patienceMs: 300_000 }
}

async function shared(by = owner): Promise<bigint> {
  const prepared = await prepareUpload(by, { secret, threshold: 2 })
  const { complete } = await upload(by, prepared)
  expect(complete).toBe(true)
  return BigInt(prepared.id)
}

const caught = (promise: Promise<unknown>): Promise<ClientError> =>
  promise.then(
    () => expect.unreachable('it did not reject'),
    (error: unknown) => {
      if (error instanceof ClientError) return error
      throw error
    },
  )
const codes = (errors: readonly EngineError[]) => errors.map(({ engine, code }) => [engine.address, code])

it('signs the method as it is sent, which is in upper case', async () => {
  const [engine = expect.unreachable()] = (await client.engines()).engines
  for (const method of ['get', 'patch']) {
    expect(await client.call(engine, { method, path: '/nothing' })).toMatchObject({ status: 404, signed: true })
  }
  const targets = world.engines.flatMap(({ requests }) => requests.map(({ target }) => target))
  expect(targets.slice(-2)).toEqual(['GET /nothing', 'PATCH /nothing'])
})

it('finds the key of an engine of an earlier version, which lists many contracts in one document', async () => {
  const contract = { address: `0x${'ab'.repeat(20)}`, state: 'served', component: 'cd'.repeat(32), hooks: [] }
  const contracts = Array.from({ length: 4000 }, () => contract)
  const fetchLong: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    if (!response.url.endsWith('/engine')) return response
    return Response.json({ contracts, ...((await response.json()) as object) })
  }
  client = clientWith({ fetch: fetchLong })
  owner = somebody()
  const id = await shared()
  expect(await downloadSecret(owner, { id, askAll: true })).toEqual({ secret, errors: [] })
})

describe('a shared secret', () => {
  it('comes back, and each engine was sent a request of its own', async () => {
    const id = await shared()
    expect(new Set(world.engines.map(({ requests }) => requests[0]?.authorization)).size).toBe(3)
    const status = await sharingStatus(client, id)
    expect(status?.uploaded).toEqual([true, true, true])
    expect(await downloadSecret(owner, { id, askAll: true })).toEqual({ secret, errors: [] })
  })

  it('is on the chain in no form but the commitments to its shares', async () => {
    const id = await shared()
    await downloadSecret(owner, { id })
    const published = filesBelow(world.directory)
      .map((name) => readFileSync(join(world.directory, name), 'latin1'))
      .join('\n')
    for (const { shares } of world.engines) {
      const share = shares.get(String(id)) ?? expect.unreachable('an engine has no share')
      expect(published).toContain(createHash('sha256').update(share).digest('hex'))
      for (const form of ['hex', 'base64', 'latin1'] as const) {
        expect(published).not.toContain(Buffer.from(share).toString(form))
        expect(published).not.toContain(Buffer.from(secret).toString(form))
      }
    }
  })

  it('comes back with the signatures of existing clients, too', async () => {
    const id = await shared(somebody(undefined, 'secp256k1'))
    expect(world.engines[0]?.requests[0]?.authorization).toMatch(/^secp256k1 /)
    expect((await sharingStatus(client, id))?.threshold).toBe(2)
  })

  it('is not shared through a contract that lists an engine twice', async () => {
    client = clientWith({ extract: ({ engines = [] }) => Promise.resolve([...engines, ...engines.slice(0, 1)]) })
    const error = await caught(prepareUpload(somebody(), { secret, threshold: 2 }))
    expect([error.code, error.message]).toEqual(['bad-request', expect.stringContaining('lists an engine twice')])
  })

  it('comes back by XOR, where every engine is needed', async () => {
    const prepared = await prepareUpload(owner, { secret, threshold: 3, scheme: 'xor' })
    await upload(owner, prepared)
    const { secret: got } = await downloadSecret(owner, { id: BigInt(prepared.id), scheme: 'xor' })
    expect(got).toEqual(secret)
  })

  it('does not come back by XOR where fewer shares than all are enough', async () => {
    const id = await shared()
    const error = await caught(downloadSecret(owner, { id, scheme: 'xor' }))
    expect([error.code, error.message]).toEqual(['bad-request', expect.stringContaining('with XOR every share')])
    expect((await sharingStatus(client, id))?.downloadDeadline).toBeUndefined()
  })

  it('does not come back where one share would be the secret, which the contract allows', async () => {
    const prepared = { ...(await prepareUpload(owner, { secret, threshold: 2 })), threshold: 1 }
    expect((await upload(owner, prepared)).complete).toBe(true)
    const error = await caught(downloadSecret(owner, { id: BigInt(prepared.id) }))
    const message = 'the threshold is a number from 2 to that of the engines, which is 3, and not 1'
    expect([error.code, error.message]).toEqual(['bad-request', message])
  })

  it('may be empty', async () => {
    const prepared = await prepareUpload(owner, { secret: new Uint8Array(), threshold: 2 })
    await upload(owner, prepared)
    expect((await downloadSecret(owner, { id: BigInt(prepared.id) })).secret).toHaveLength(0)
  })

  it('is forgotten by all', async () => {
    const id = await shared()
    const gone = deleteSecret(owner, id)
    await expect.poll(async () => (await sharingStatus(client, id))?.deleting).toBe(true)
    expect((await caught(downloadSecret(owner, { id }))).code).toBe('being-deleted')
    await forgetDeleted(world, id)
    expect(await gone).toEqual({ gone: true })
    expect(await sharingStatus(client, id)).toBeUndefined()
    expect((await caught(downloadSecret(owner, { id }))).code).toBe('unknown-sharing')
  })

  it('is forgotten by all while the node of the chain fails now and then', async () => {
    const id = await shared()
    const { chain } = world
    let questions = 0
    let isWaiting = false
    const isRefused = (): boolean => isWaiting && ++questions % 2 === 1
    const read: typeof chain.read = (...question) =>
      isRefused() ? Promise.reject(new ChainError('the node limits requests')) : chain.read(...question)
    const { transactor } = owner
    const send: typeof transactor.send = async (...transaction) => {
      await transactor.send(...transaction)
      isWaiting = true
    }
    const flaky = { ...owner, client: clientWith({ chain: { ...chain, read } }), transactor: { ...transactor, send } }
    const gone = deleteSecret(flaky, id)
    await expect.poll(() => questions).toBeGreaterThan(2)
    await forgetDeleted(world, id)
    expect(await gone).toEqual({ gone: true })
  })

  it('is the owner’s alone', async () => {
    const id = await shared()
    expect((await caught(downloadSecret(somebody(), { id }))).code).toBe('not-owner')
    expect((await caught(deleteSecret(somebody(), id))).code).toBe('not-owner')
  })

  it('keeps its id to itself', async () => {
    const id = await shared()
    const other = await prepareUpload(owner, { secret, threshold: 2, id })
    expect((await caught(upload(owner, other))).code).toBe('id-in-use')
    expect((await caught(upload(somebody(), other))).code).toBe('id-in-use')
  })
})

/** The text of the client about an engine that does this while a secret is downloaded, when it is asked at all. */
const faults: readonly (readonly [Misbehaviour, string])[] = [
  ['wrong-share', 'wrong-share'],
  ['share-of-another', 'wrong-share'],
  ['slow', 'deadline'],
  ['breaks-off', 'unreachable'],
  ['endless', 'answer-too-large'],
  ['redirects', 'redirected'],
  ['not-this-engine', 'engine-refused'],
  ['unknown-contract', 'engine-refused'],
  ['trap', 'engine-refused'],
  ['refuses', 'component-refused'],
  ['echoes', 'engine-refused'],
  ['wrong-signature', 'bad-signature'],
  ['malformed-signature', 'bad-signature'],
  ['foreign-key', 'bad-signature'],
  ['hides-its-key', 'unreachable'],
]

describe('an engine', () => {
  let id: bigint
  let mine: SecretSharing
  beforeAll(async () => {
    client = clientWith()
    mine = somebody()
    id = await shared(mine)
  })
  beforeEach(() => {
    mine = { ...mine, client, patienceMs: 1000 }
  })
  /** Shortens the deadline for engines that never answer, to what the others need on this machine many times over. */
  const shortenDeadline = async (): Promise<void> => {
    const begin = performance.now()
    await downloadSecret(mine, { id, askAll: true })
    mine = { ...mine, client: clientWith({ deadlineMs: 1000 + 20 * Math.ceil(performance.now() - begin) }) }
  }

  it.each(faults)('that does this is named, and not needed: %s', async (behaviour, code) => {
    if (behaviour === 'slow') await shortenDeadline()
    for (const bad of world.engines) {
      behave(bad, behaviour)
      const { secret: got, errors } = await downloadSecret(mine, { id, askAll: true })
      expect(got).toEqual(secret)
      expect(codes(errors)).toEqual([[bad.address, code]])
      expect(errors[0]?.message).toContain(bad.endpoint)
      behave(bad, 'none')
      if (!['wrong-share', 'share-of-another', 'foreign-key'].includes(behaviour)) break
    }
  })

  it.each(faults.slice(0, 5))(
    'makes it fail with another that does this, and both are named: %s',
    async (behaviour, code) => {
      if (behaviour === 'slow') await shortenDeadline()
      const [first, second] = world.engines
      behave(first, behaviour)
      behave(second, behaviour)
      const error = await caught(downloadSecret(mine, { id }))
      expect(error.code).toBe('too-few-shares')
      expect(new Set(codes(error.engines).map((each) => each.join(' ')))).toEqual(
        new Set([`${first?.address} ${code}`, `${second?.address} ${code}`]),
      )
    },
  )

  it('that is slow is not waited for', async () => {
    const [slow] = world.engines
    behave(slow, 'slow')
    const answered: string[] = []
    const patient = clientWith({
      deadlineMs: 100_000,
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        answered.push(response.url)
        return response
      },
    })
    expect((await downloadSecret({ ...mine, client: patient }, { id })).secret).toEqual(secret)
    expect(answered.filter((url) => url.startsWith(slow?.endpoint ?? ''))).toEqual([])
  })

  it.each<Misbehaviour>(['behind', 'overloaded-once'])('is asked again, signed anew: %s', async (behaviour) => {
    const [engine] = world.engines
    behave(engine, behaviour)
    expect((await downloadSecret({ ...mine, patienceMs: 300_000 }, { id, askAll: true })).errors).toEqual([])
    const sent = engine?.requests.map(({ authorization }) => authorization) ?? []
    expect(sent.length).toBeGreaterThan(1)
    expect(new Set(sent).size).toBe(sent.length)
  })

  it('is not asked until patience ends, where its contract may ask for no more transactions', async () => {
    const [engine] = world.engines
    behave(engine, 'over-quota')
    const { errors } = await downloadSecret({ ...mine, patienceMs: 300_000 }, { id, askAll: true })
    expect(errors.map(({ code, problem }) => [code, problem])).toEqual([['engine-refused', 'transaction-quota']])
    expect(engine?.requests).toHaveLength(3)
  })

  it('need not sign its answers, unless that was asked for', async () => {
    const [engine] = world.engines
    behave(engine, 'unsigned')
    expect((await downloadSecret(mine, { id, askAll: true })).errors).toEqual([])
    const strict = { ...mine, client: clientWith({ requireSignature: true }) }
    expect(codes((await downloadSecret(strict, { id, askAll: true })).errors)).toEqual([
      [engine?.address, 'no-signature'],
    ])
  })

  it('tells in its answer whether it was signed', async () => {
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    const request = { method: 'GET', path: `/shares/${id}`, signer: mine.signer }
    expect(await client.call(engine, request)).toMatchObject({ signed: true })
    behave(world.engines[0], 'unsigned')
    expect(await client.call(engine, request)).toMatchObject({ signed: false })
  })

  it('is believed for five minutes when it answers an unsigned request, since the answer may be an old one', async () => {
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    const at = (minutes: number) => ({ now: () => new Date(Date.now() + minutes * 60_000) })
    const request = { method: 'GET', path: `/shares/${id}` }
    await expect(clientWith(at(6)).call(engine, request)).rejects.toMatchObject({ code: 'bad-signature' })
    await expect(clientWith(at(-6)).call(engine, request)).rejects.toMatchObject({ code: 'bad-signature' })
    expect(await clientWith(at(4)).call(engine, request)).toMatchObject({ signed: true })
  })
})

describe('a request to all engines', () => {
  const asked = { method: 'GET', path: '/shares/1' }
  const refusedBy = async (behaviour: Misbehaviour) => {
    const [engine] = world.engines
    behave(engine, behaviour)
    // The clock goes on by what is waited alone.
    let time = Date.now()
    const clock = {
      now: () => new Date(time),
      wait: (ms: number) => {
        time += ms
        return Promise.resolve()
      },
    }
    const { errors } = await clientWith({ patienceMs: 400, ...clock }).callAll({ ...asked, signer: owner.signer })
    const said = errors.find((error) => error.engine.address === engine?.address)
    return { said, authorizations: engine?.requests.map(({ authorization }) => authorization) ?? [] }
  }

  it('is made again, signed anew, where an engine says that it is not ready', async () => {
    const { said, authorizations } = await refusedBy('overloaded-once')
    // This is what the component says, when it is asked.
    expect(said).toMatchObject({ code: 'component-refused', status: 404 })
    expect(new Set(authorizations).size).toBe(2)
  })

  it('is made again for so long alone as was said', async () => {
    const { said, authorizations } = await refusedBy('unknown-contract')
    expect(said).toMatchObject({ code: 'engine-refused', problem: 'unknown-contract' })
    expect(authorizations).toHaveLength(3)
  })

  it.each<[Misbehaviour, string]>([
    ['over-quota', 'engine-refused'],
    ['trap', 'engine-refused'],
    ['breaks-off', 'unreachable'],
  ])('is made once where it may have been done, or waiting is of no use: %s', async (behaviour, code) => {
    const { said, authorizations } = await refusedBy(behaviour)
    expect([said?.code, authorizations.length]).toEqual([code, 1])
  })
})

describe('an engine that signs', () => {
  it('is heard when its component refuses', async () => {
    const [engine] = await signingEngines({ client, signer: owner.signer })
    expect(await engine?.post('/keys/1/commitments', '{}')).toEqual({ status: 404, body: '{ "error": "Invalid URL" }' })
  })

  it.each([
    ['commitments', 3],
    ['signature-shares', 1],
  ])('is asked for %s %i times where the connection breaks', async (what, times) => {
    let asked = 0
    const broken: typeof fetch = () => {
      asked += 1
      return Promise.reject(new TypeError('fetch failed'))
    }
    const [engine] = await signingEngines({ client: clientWith({ fetch: broken }), signer: owner.signer })
    await expect(engine?.post(`/keys/1/${what}`, '{}')).rejects.toMatchObject({ code: 'unreachable' })
    expect(asked).toBe(times)
  })
})

describe('what cannot be reached', () => {
  /** Where nobody listens any more. */
  const closed = async (): Promise<number> => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    return port
  }

  it('is an engine that is named, with the code of the system', async () => {
    const endpoint = `http://localhost:${await closed()}`
    const engines = [{ address: `00${'ab'.repeat(20)}`, endpoint }]
    const { errors } = await clientWith({ extract: () => Promise.resolve(engines) }).callAll({
      method: 'GET',
      path: '/',
    })
    expect(errors.map(({ message }) => message)).toEqual([
      `engine 0x${'ab'.repeat(20)} at ${endpoint}: it could not be reached (ECONNREFUSED)`,
    ])
  })

  it.each(['http://127.0.0.1', 'http://localhost'])(
    'is a node of a chain, whose path is not told: %s',
    async (host) => {
      const url = `${host}:${await closed()}`
      await expect(nodeChain(`${url}/v3/secret-path?key=secret`, { fetch })).rejects.toThrow(
        new ChainError(`the chain cannot be asked: ${url} could not be reached (ECONNREFUSED)`),
      )
    },
  )

  it('is a node that has no whole URL', async () => {
    const why = 'the chain cannot be asked: its node could not be reached (ERR_INVALID_URL)'
    await expect(nodeChain('/of-the-page', { fetch })).rejects.toThrow(new ChainError(why))
  })

  it('is a node that is silent', async () => {
    const silent = createServer()
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const why = `the chain cannot be asked: ${url} did not answer within 0.05 s`
    await expect(nodeChain(url, { fetch, deadlineMs: 50 })).rejects.toThrow(new ChainError(why))
    silent.closeAllConnections()
    silent.close()
  })
})

describe('an upload that was interrupted', () => {
  it('goes on with what is missing, and nothing else', async () => {
    behave(world.engines[1], 'breaks-off')
    const prepared = await prepareUpload(owner, { secret, threshold: 2 })
    const first = await upload(owner, prepared)
    expect(first.complete).toBe(false)
    expect(first.engines.map(({ uploaded, error }) => [uploaded, error?.code])).toEqual([
      [true, undefined],
      [false, 'unreachable'],
      [true, undefined],
    ])
    const id = BigInt(prepared.id)
    expect((await caught(downloadSecret(owner, { id }))).code).toBe('incomplete-upload')
    for (const engine of world.engines) behave(engine, 'none')
    const stored = JSON.parse(JSON.stringify(prepared)) as Upload
    expect((await upload(owner, stored)).complete).toBe(true)
    expect(world.engines.map(({ requests }) => requests.length)).toEqual([0, 1, 0])
    expect((await downloadSecret(owner, { id })).secret).toEqual(secret)
  })

  it('says of an engine that took its share, and did not tell the chain, that it is missing', async () => {
    behave(world.engines[2], 'forgets')
    const patient = { ...owner, patienceMs: 300 }
    const outcome = await upload(patient, await prepareUpload(owner, { secret, threshold: 2 }))
    expect(outcome.complete).toBe(false)
    expect(outcome.engines.map(({ uploaded, error }) => [uploaded, error])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, undefined],
    ])
  })

  it('waits for an engine that has not seen the contract register it', async () => {
    behave(world.engines[0], 'behind')
    expect((await upload(owner, await prepareUpload(owner, { secret, threshold: 2 }))).complete).toBe(true)
  })

  it('is for the engines that it was made for', async () => {
    const prepared = await prepareUpload(owner, { secret, threshold: 2 })
    const others = { ...prepared, engines: prepared.engines.toReversed() }
    expect((await caught(upload(owner, others))).code).toBe('bad-request')
    expect((await caught(upload(owner, { ...prepared, chain: '1' }))).code).toBe('bad-request')
  })
})

describe('the list of engines', () => {
  it('is read once, and again when it is old or an engine says that it is', async () => {
    let reads = 0
    let time = Date.now()
    const chain = {
      ...world.chain,
      fetchContract: (...of: Parameters<typeof world.chain.fetchContract>) => {
        reads++
        return world.chain.fetchContract(...of)
      },
    }
    const counting = clientWith({ chain, now: () => new Date(time), engineListMs: 1000 })
    const { engines } = await counting.engines()
    await counting.engines()
    expect(reads).toBe(1)
    time += 1001
    await counting.engines()
    expect(reads).toBe(2)
    behave(world.engines[0], 'not-this-engine')
    const [engine] = engines
    if (engine === undefined) throw new Error('no engine')
    await expect(counting.call(engine, { method: 'GET', path: '/' })).rejects.toMatchObject({ status: 421 })
    await counting.engines()
    expect(reads).toBe(3)
  })

  it('is that of a contract which has one', async () => {
    const nowhere = clientWith({ contract: `00${'12'.repeat(20)}` })
    expect((await caught(nowhere.engines())).code).toBe('unknown-contract')
  })

  it('may come from an extractor', async () => {
    const engines = [{ address: `00${'ab'.repeat(20)}`, endpoint: '' }]
    const extracting = clientWith({ extract: () => Promise.resolve(engines) })
    expect((await extracting.engines()).engines).toEqual(engines)
    const { errors } = await extracting.callAll({ method: 'GET', path: '/' })
    expect(errors.map(({ code }) => code)).toEqual(['no-endpoint'])
  })

  it.each(['https://a.example/?x', 'https://a.example/#', 'http://[', 'https://a.example:99999', 'ftp://a.example'])(
    'may name %s as the URL of an engine: the others answer',
    async (endpoint) => {
      const id = await shared()
      client = clientWith({
        extract: ({ engines = [] }) =>
          Promise.resolve(engines.map((each, at) => (at === 0 ? { ...each, endpoint } : each))),
      })
      const { errors } = await client.callAll({ method: 'GET', path: '/nothing' })
      expect(errors.map(({ code }) => code).sort()).toEqual(['component-refused', 'component-refused', 'no-endpoint'])
      const downloaded = await downloadSecret({ ...owner, client }, { id, askAll: true })
      expect(downloaded.secret).toEqual(secret)
      expect(codes(downloaded.errors)).toEqual([[world.engines[0]?.address, 'no-endpoint']])
    },
  )
})

describe('a request', () => {
  it.each(['shares/1', '/../x', '/a#b'])('does not leave its contract: %s', async (path) => {
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    await expect(client.call(engine, { method: 'GET', path })).rejects.toThrow(TypeError)
  })

  it('does not go to a contract whose address only begins like its own', async () => {
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    const path = `/../${evmAddress(world.contract)}0/shares/1`
    await expect(client.call(engine, { method: 'GET', path })).rejects.toThrow(TypeError)
  })

  it('takes no cookie along, follows no redirect, and leaves nothing of the answer in a cache', async () => {
    const id = await shared()
    const requests: (readonly string[])[] = []
    const noting: typeof fetch = (...request) => {
      const { credentials, redirect, cache } = new Request(...request)
      requests.push([credentials, redirect, cache])
      return fetch(...request)
    }
    client = clientWith({ fetch: noting })
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    await client.call(engine, { method: 'GET', path: `/shares/${id}`, signer: owner.signer })
    // The second asks the engine whose key signed the answer.
    expect(requests).toEqual([
      ['omit', 'manual', 'no-store'],
      ['omit', 'manual', 'default'],
    ])
  })

  it('is signed as it is sent, whatever is in its query', async () => {
    const id = await shared()
    const engine = (await client.engines()).engines[0]
    if (engine === undefined) throw new Error('no engine')
    const request = { method: 'GET', path: `/shares/${id}?q=ä b&c=%20|'"<>`, signer: owner.signer }
    // This component knows no queries; but the answer is signed for the target that we believe to have sent.
    expect(await client.call(engine, request)).toMatchObject({ status: 404, signed: true })
  })
})

describe('the id of a sharing', () => {
  it.each(['', '-1', '01', '1.0', '0x1', '340282366920938463463374607431768211456', ' 1'])('is not %j', (text) => {
    expect(() => parseSharingId(text)).toThrow(ClientError)
  })
})

describe('nothing that is thrown', () => {
  it('has a share in it, whatever the engines do', async () => {
    const behaviours = fc.constantFrom<Misbehaviour>(
      'echoes',
      'wrong-share',
      'share-of-another',
      'refuses',
      'trap',
      'breaks-off',
      'wrong-signature',
    )
    await fc.assert(
      fc.asyncProperty(fc.tuple(behaviours, behaviours, behaviours), fc.boolean(), async (chosen, isUpload) => {
        for (const engine of world.engines) behave(engine, 'none')
        const impatient = { ...owner, patienceMs: 0 }
        const prepared = await prepareUpload(owner, { secret, threshold: 2 })
        if (!isUpload) await upload(owner, prepared)
        for (const [at, behaviour] of chosen.entries()) behave(world.engines[at], behaviour)
        const thrown = isUpload
          ? (await upload(impatient, prepared)).engines
          : await downloadSecret(impatient, { id: BigInt(prepared.id) }).catch((error: unknown) => error)
        const text = `${inspect(thrown, { depth: 10, showHidden: true })} ${JSON.stringify(thrown)}`
        for (const share of prepared.shares) {
          for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const) {
            expect(text).not.toContain(Buffer.from(share, 'hex').subarray(0, 24).toString(form))
          }
        }
      }),
      { numRuns: 15 },
    )
  })
})
