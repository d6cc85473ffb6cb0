/**
 * Nonces of threshold signatures in engines that are processes of their own: two shares that were made with the same
 * nonces give the share of the key away, so that there is one at most, however many ask at once, and whatever is
 * killed.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EngineClient, engineClient } from '../../sdk/client/engine-client.ts'
import { keySigner, type RequestSigner } from '../../sdk/client/signers.ts'
import { readArtifact } from '../../src/bin/chain/artifact.ts'
import { decodeAnswer, encodeCall } from '../../src/chain/evm/abi.ts'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import { deployComponent, type Place, place, send } from '../support/engine-contracts.ts'
import {
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'

const KEYS = join(import.meta.dirname, '..', '..', 'dist', 'components', 'key-management.js')
const STARTS_MS = 600_000
const USED = JSON.stringify({ error: 'Unknown, used or expired commitments' })

let at: Place
let engines: readonly [EngineProcess, EngineProcess]
let contract: Address
let client: EngineClient
let signer: RequestSigner
const dir = makeDirectory('chain')

beforeAll(async () => {
  at = await place({ dir })
  const settings = { chain: { type: 'local', directory: dir }, pollMilliseconds: 100 }
  engines = [await makeEngine(settings), await makeEngine(settings)]
  await Promise.all(engines.map((engine) => engine.start()))
  contract = await deployComponent(at, 'KeyManagement', KEYS, engines)
  await waitUntilServed(engines, contract)
  signer = keySigner(at.readAccountKey(), 'evm')
  const wait = (ms: number): Promise<void> => sleep(ms)
  client = engineClient({ chain: at.chain, contract, fetch, now: () => new Date(), random: randomBytes, wait })
  const policy = { signers: [evmAddress(signer.address)], notAfter: '0', sharesPerDay: '0', prefix: '0x' }
  await send(at, contract, 'KeyManagement', 'createKey', ['1', '2', policy])
  await eventually(async () => (await statusOf('1')) === '4', 300_000)
  // Each engine sees that when it has read the block itself.
  for (const engine of engines)
    await eventually(async () => (await post(engine, '/keys/1/commitments', {})).status === 200)
}, STARTS_MS)
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.remove()))
  rmSync(join(dir, '..'), { recursive: true })
})

async function statusOf(id: string): Promise<string> {
  const item = readArtifact('KeyManagement').abi.find(({ type, name }) => type === 'function' && name === 'key')
  if (item === undefined) throw new Error('there is no such method')
  const answer = await at.chain.read(contract, encodeCall(item, [id]), await at.chain.fetchHead())
  return (decodeAnswer(item, answer) as { readonly status: string }).status
}

interface Said {
  readonly status: number
  readonly text: string
}

/** Posts a request that is signed anew each time: it is not the engine's memory of requests that refuses it. */
async function post(engine: EngineProcess, path: string, body: object): Promise<Said> {
  const found = (await client.engines()).engines.find(({ address }) => address === engine.address)
  if (found === undefined) throw new Error('it is not an engine of the contract')
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', path, headers, body: Buffer.from(JSON.stringify(body)), signer }
  const answer = await client.call(found, request)
  return { status: answer.status, text: Buffer.from(answer.body).toString() }
}

async function commitments(): Promise<readonly object[]> {
  const answers = await Promise.all(engines.map((engine) => post(engine, '/keys/1/commitments', {})))
  return answers.map(({ status, text }) => {
    if (status !== 200) throw new Error(`there are no commitments: ${status} ${text}`)
    const { identifier, hiding, binding } = JSON.parse(text) as Record<string, string>
    return { identifier, hiding, binding }
  })
}

/** Asks the first engine for its share, for another message each time. */
function share(nonces: readonly object[], message: string): Promise<Said> {
  const hex = Buffer.from(message).toString('hex')
  return post(engines[0], '/keys/1/signature-shares', { message: hex, commitments: nonces })
}

it('many requests at once get one share from a nonce', async () => {
  const nonces = await commitments()
  const asked = Array.from({ length: 12 }, (_, n) => share(nonces, `message ${n}`))
  const answers = await Promise.all(asked)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(new Set(answers.filter(({ status }) => status !== 200).map(({ text }) => text))).toEqual(new Set([USED]))
})

it('an engine that is killed among them gives no second one when it is back', async () => {
  const nonces = await commitments()
  const asked = Array.from({ length: 12 }, (_, n) => share(nonces, `before ${n}`))
  // The first answer is out, and the others are on their way.
  await Promise.race(asked)
  await engines[0].kill()
  const before = await Promise.allSettled(asked)
  await engines[0].start()
  await waitUntilServed([engines[0]], contract)
  const after = await Promise.all([0, 1, 2].map((n) => share(nonces, `after ${n}`)))
  const answered = [...before.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])), ...after]
  // None, when it was lost on its way to us.
  expect(answered.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
  expect(after).toEqual(after.map(() => ({ status: 409, text: USED })))
})
