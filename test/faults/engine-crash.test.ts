/**
 * An engine whose chain fails it, or that is killed in the middle of a call: nothing half-done, nothing lost, nothing
 * twice.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import { componentFile, deployComponent, keepComponent, type Place, place } from '../support/engine-contracts.ts'
import { FAULTY } from '../support/engine-faulty.ts'
import {
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'
import { faults } from '../support/faults.ts'

const STARTS_MS = 600_000
let file: string
const engines: EngineProcess[] = []
/** An engine on a local chain, with its contract, which may ask a server that does not answer. */
let local: EngineProcess
let contract: Address
const hold = createServer()
beforeAll(async () => {
  ;({ file } = await componentFile(FAULTY))
  await new Promise((resolve) => hold.listen(0, '127.0.0.1', () => resolve(undefined)))
  const dir = makeDirectory('chain')
  local = await makeEngine({
    chain: { type: 'local', directory: dir },
    outbound: { allow: [`127.0.0.1:${portOf(hold)}`], allowPrivateAddresses: true },
  })
  engines.push(local)
  await local.start()
  contract = await deployComponent(await place({ dir }), 'Component', file, [local])
  await waitUntilServed([local], contract)
}, STARTS_MS)
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.remove()))
  hold.close()
  hold.closeAllConnections()
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port
/** Returns the next number of the contract on the local chain; 0 where it gives none. */
async function count(): Promise<number> {
  const response = await fetch(`${local.url}/offchain/${contract}/count`, { method: 'PUT' })
  return response.status === 201 ? ((await response.json()) as { n: number }).n : 0
}

/** Starts a node of a local chain. `gate` may hold a question back. */
async function node(dir: string) {
  const rpc = await openLocalRpc(openBlockFiles(dir), () => new Date())
  const self = {
    url: '',
    gate: (method: string): Promise<void> =>
      method === '' ? Promise.reject(new Error('no method')) : Promise.resolve(),
    close: () => server.close(),
  }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number
        method: string
        params: never[]
      }
      await self.gate(method)
      const answer = await rpc(method, params).then(
        (result) => ({ result }),
        (error: unknown) => ({ error: { code: -32000, message: (error as Error).message } }),
      )
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  self.url = `http://127.0.0.1:${portOf(server)}`
  return self
}

const POSTED = `0xbaf9b369${'20'.padStart(64, '0')}${'1'.padStart(64, '0')}ab${'0'.repeat(62)}`
const post = ({ url }: EngineProcess, contract: Address): Promise<Response> =>
  fetch(`${url}/offchain/${contract}/post`, { method: 'POST', body: Buffer.from(POSTED.slice(2), 'hex') })
const nonceOf = async (at: Place, { address }: EngineProcess): Promise<number> =>
  Number(await at.rpc('eth_getTransactionCount', [evmAddress(address), 'latest']))

it(
  'killed between the commit of a call and the submission of its transaction: the chain has it exactly once',
  async () => {
    const dir = makeDirectory('chain')
    const at = await place({ dir })
    const proxy = await node(dir)
    const engine = await makeEngine({
      chain: { type: 'evm', rpcUrl: proxy.url, confirmations: 0, blocksOnDemand: true },
      contractFilter: [await nextContract(at)],
      pollMilliseconds: 50,
    })
    engines.push(engine)
    keepComponent(engine, readFileSync(file))
    await engine.start()
    const contract = await deployComponent(at, 'Component', file, [engine])
    await waitUntilServed([engine], contract)
    for (const stage of faults(['eth_sendRawTransaction', 'eth_estimateGas'])) {
      const before = await nonceOf(at, engine)
      let reached: () => void = () => undefined
      const isThere = new Promise<void>((resolve) => {
        reached = resolve
      })
      proxy.gate = (method) => {
        if (method !== stage) return Promise.resolve()
        reached()
        return new Promise(() => undefined)
      }
      expect((await post(engine, contract)).status).toBe(202)
      await isThere
      await engine.kill()
      expect(await nonceOf(at, engine)).toBe(before)
      proxy.gate = () => Promise.resolve()
      await engine.start()
      await eventually(async () => (await nonceOf(at, engine)) === before + 1)
      const included = () => engine.log().filter(({ event }) => event === 'transaction_included').length
      await eventually(() => included() === 1)
      await waitUntilServed([engine], contract)
      // Transactions are sent in their order, so that a second copy would come before that of another call.
      expect((await post(engine, contract)).status).toBe(202)
      await eventually(() => included() === 2)
      expect(await nonceOf(at, engine)).toBe(before + 2)
    }
    proxy.close()
  },
  STARTS_MS,
)

/** Returns the address that CREATE gives: Keccak-256 of the RLP of sender and nonce. */
async function nextContract({ chain, readAccountKey }: Place): Promise<string> {
  const account = chain.createAccount(readAccountKey())
  const nonce = await account.fetchNextNonce()
  const sender = Buffer.from(account.address.slice(2), 'hex')
  const rlp = Buffer.concat([Buffer.from([0xd6, 0x94]), sender, Buffer.from([nonce === 0 ? 0x80 : nonce])])
  return `0x${Buffer.from(keccak_256(rlp)).subarray(12).toString('hex')}`
}

it(
  'killed half-way through a PUT: nothing of it is there, and what was acknowledged before is',
  async () => {
    // The second round begins with what the first one left.
    const rounds = faults([1, 2]).length
    for (let round = 0; round < rounds; round++) {
      const asked = new Promise((resolve) => hold.once('request', resolve))
      // The requests before this one were answered one by one; those behind it wait for it.
      let acknowledged = 0
      for (let n = 0; n < 5; n++) acknowledged = Math.max(acknowledged, await count())
      const held = fetch(`${local.url}/offchain/${contract}/hold?url=http://127.0.0.1:${portOf(hold)}/`, {
        method: 'PUT',
      })
      await asked
      const behind = count()
      const both = Promise.allSettled([held, behind])
      await local.kill()
      for (const { status } of await both) expect(status).toBe('rejected')
      await local.start()
      await waitUntilServed([local], contract)
      expect(await (await fetch(`${local.url}/offchain/${contract}/left`)).json()).toEqual([])
      expect(await count()).toBe(acknowledged + 1)
    }
  },
  STARTS_MS,
)

it(
  'killed while many write: no number that was acknowledged is lost, and none is given twice',
  async () => {
    const seen: number[] = []
    const write = async (): Promise<void> => {
      for (;;) {
        const n = await count()
        if (n > 0) seen.push(n)
      }
    }
    const writers = Promise.allSettled(Array.from({ length: 8 }, write))
    await eventually(() => seen.length > 50)
    await local.kill()
    await writers
    await local.start()
    await waitUntilServed([local], contract)
    const n = await count()
    expect(n).toBeGreaterThan(Math.max(...seen))
    // Each writer may have been committed without hearing of it.
    expect(n).toBeLessThanOrEqual(Math.max(...seen) + 9)
    expect(new Set(seen).size).toBe(seen.length)
  },
  STARTS_MS,
)
