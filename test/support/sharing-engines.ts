/**
 * Small engines of secret sharing in this process, over HTTP, on a local chain: they do the work of an engine and of
 * the component, and each can be told to misbehave in one way.
 */
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deploy } from '../../components/test/evm.ts'
import { readSharing } from '../../sdk/client/sharing-contract.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import type { Account } from '../../src/chain/chain.ts'
import { createEvmChain, type EvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import type { JsonRpc } from '../../src/chain/json-rpc.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { type Address, evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { authenticate } from '../../src/offchain/authentication/authenticate.ts'
import { loadRecovery } from '../../src/offchain/authentication/key-recovery.ts'
import {
  type Endorsement,
  endorse,
  responseSignatureInput,
  writeEngineSignature,
} from '../../src/offchain/response-signature.ts'
import {
  changeAnswer,
  type EngineReply,
  type EngineRequest,
  isBehind,
  type Misbehaving,
  type Misbehaviour,
  misbehaves,
  refusal,
} from './misbehaviour.ts'

export interface SharingEngine {
  readonly address: Address
  readonly key: Uint8Array
  readonly endpoint: string
  behaviour: Misbehaviour
  /** Shares by id. */
  readonly shares: Map<string, Uint8Array>
  /** Method and uri of each request to the contract, and its authorization. */
  readonly requests: { readonly target: string; readonly authorization: string }[]
}

export interface SharingEngines {
  readonly chain: EvmChain
  readonly rpc: JsonRpc
  readonly directory: string
  readonly contract: Address
  readonly engines: readonly SharingEngine[]
  stop(): Promise<void>
}

interface Running extends SharingEngine, Misbehaving {
  behaviour: Misbehaviour
  readonly server: Server
  readonly signing: KeyObject
  readonly endorsement: Endorsement
  readonly account: Account
}

export async function startSharingEngines(count: number): Promise<SharingEngines> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-engines-'))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  const chain = createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: 0 })
  const world: { contract: Address; chain: EvmChain; engines: Running[] } = { contract: '', chain, engines: [] }
  for (let at = 0; at < count; at++) world.engines.push(await startEngine(world))
  const engines = world.engines.map(({ address, endpoint }) => ({ engine: evmAddress(address), endpoint }))
  const args = { engines, componentSha256: new Uint8Array(32).fill(1), componentUri: '' }
  world.contract = parseAddress((await deploy(rpc, 'SecretSharing', args)).address)
  return {
    ...{ chain, rpc, directory, contract: world.contract, engines: world.engines },
    stop: async () => {
      for (const { server } of world.engines) server.closeAllConnections()
      await Promise.all(world.engines.map(({ server }) => new Promise((resolve) => server.close(resolve))))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

type World = { contract: Address; chain: EvmChain; engines: Running[] }

async function startEngine(world: World): Promise<Running> {
  const key = new Uint8Array(randomBytes(32)).with(0, 1)
  const account = world.chain.createAccount(key)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
  const endorsed = { chainId: world.chain.id, engine: account.address, publicKey: raw, issuedAt: Date.now() }
  const server = createServer((request, response) => {
    serve(world, engine, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const engine: Running = {
    ...{ server, endpoint, key, account, address: account.address, signing: privateKey, patience: 0 },
    ...{ behaviour: 'none', shares: new Map(), requests: [], endorsement: endorse(endorsed, key) },
  }
  return engine
}

async function serve(
  world: World,
  engine: Running,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const body = new Uint8Array(Buffer.concat(chunks))
  if (incoming.url === '/engine') {
    if (engine.behaviour === 'hides-its-key') {
      response.writeHead(503, { 'x-engine-error': 'starting' }).end()
      return
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ address: evmAddress(engine.address), endorsement: engine.endorsement }))
    return
  }
  const uri = (incoming.url ?? '').replace(/^\/offchain\/[^/]+/, '')
  const method = incoming.method ?? ''
  const authorization = incoming.headers.authorization ?? ''
  engine.requests.push({ target: `${method} ${uri}`, authorization })
  const engineRequest = { method, uri, body, authorization, contentType: incoming.headers['content-type'] ?? '' }
  if (await misbehaves(engine, response)) return
  const head = await world.chain.fetchHead()
  const other = world.engines.find(({ address }) => address !== engine.address)
  const share = other?.shares.get(uri.slice('/shares/'.length))
  const engineReply = changeAnswer(engine, engineRequest, await answerOf(world, engine, engineRequest), share)
  const block = isBehind(engine) ? 0 : head.number
  response.writeHead(engineReply.status, {
    ...engineReply.headers,
    'x-engine-block': String(block),
    ...signatureOf(world, engine, { engineRequest, engineReply, block }),
  })
  response.end(engineReply.body)
}

/** Answers by the methods of the component: the table of secret sharing. */
async function answerOf(world: World, engine: Running, engineRequest: EngineRequest): Promise<EngineReply> {
  const id = /^\/shares\/(\d+)$/.exec(engineRequest.uri)?.[1]
  if (id === undefined) return refusal(404, 'Invalid URL')
  const { chain, contract } = world
  const sharing = await readSharing(chain, contract, BigInt(id), await chain.fetchHead())
  if (sharing === undefined) return refusal(404, 'Unknown sharing')
  const headers = [
    { name: 'authorization', values: [engineRequest.authorization] },
    ...(engineRequest.contentType === '' ? [] : [{ name: 'content-type', values: [engineRequest.contentType] }]),
  ]
  const request = { method: engineRequest.method, uri: engineRequest.uri, headers, body: engineRequest.body }
  const input = { engine: engine.address, contract, chain, request, now: new Date(), addresses: [sharing.owner] }
  if (authenticate(input, await loadRecovery()) === undefined) return refusal(401, 'Unauthorized')
  if (engineRequest.method === 'GET') {
    const share = engine.shares.get(id)
    if (share === undefined || (sharing.downloadDeadline ?? new Date(0)) < new Date()) {
      return refusal(400, 'Download not requested, or download deadline has been passed')
    }
    return { status: 200, body: share, headers: { 'content-type': 'application/octet-stream' } }
  }
  const commitment = sharing.commitments[world.engines.findIndex(({ address }) => address === engine.address)]
  if (digest(engineRequest.body).toString('hex') !== Buffer.from(commitment ?? []).toString('hex')) {
    return refusal(401, "User uploaded data doesn't match commitment")
  }
  engine.shares.set(id, engineRequest.body)
  if (engine.behaviour !== 'forgets') await tell(world, engine, 'registerShared(uint128)', BigInt(id))
  return { status: 201, body: new Uint8Array(), headers: {} }
}

/** Sends a transaction that has an id alone. */
async function tell({ chain, contract }: World, { account }: Running, method: string, id: bigint): Promise<void> {
  const { keccak_256 } = await import('@noble/hashes/sha3.js')
  const selector = Buffer.from(keccak_256(Buffer.from(method))).subarray(0, 4)
  const payload = Buffer.concat([selector, Buffer.from(id.toString(16).padStart(64, '0'), 'hex')])
  await account.submit(await account.sign(contract, payload, 0n, await account.fetchNextNonce()))
  await chain.fetchHead()
}

/** Has every engine forget what is being deleted, as their components do when the state has changed. */
export async function forgetDeleted({ chain, contract, engines }: SharingEngines, id: bigint): Promise<void> {
  for (const engine of engines as readonly Running[]) {
    engine.shares.delete(id.toString())
    await tell({ chain, contract, engines: [] }, engine, 'registerDeleted(uint128)', id)
  }
}

interface ExchangedShares {
  readonly engineRequest: EngineRequest
  readonly engineReply: EngineReply
  readonly block: number
}

function signatureOf(
  world: World,
  engine: Running,
  { engineRequest, engineReply, block }: ExchangedShares,
): Record<string, string> {
  const { behaviour } = engine
  if (behaviour === 'unsigned') return {}
  if (behaviour === 'malformed-signature') return { 'x-engine-signature': 'ed25519 00' }
  const time = Date.now()
  const input = responseSignatureInput({
    ...{ chainId: world.chain.id, contract: world.contract, engine: engine.address, block, time },
    request: {
      method: engineRequest.method,
      uri: engineRequest.uri,
      authorization: engineRequest.authorization,
      bodyDigest: digest(engineRequest.body),
    },
    response: {
      status: behaviour === 'wrong-signature' ? 299 : engineReply.status,
      contentType: engineReply.headers['content-type'] ?? '',
      bodyDigest: digest(engineReply.body),
    },
  })
  const foreign = behaviour === 'foreign-key'
  const key = foreign ? generateKeyPairSync('ed25519').privateKey : engine.signing
  const publicKey = foreign ? publicOf(key) : new Uint8Array(Buffer.from(engine.endorsement.public_key, 'hex'))
  const signature = new Uint8Array(sign(null, input, key))
  return { 'x-engine-signature': writeEngineSignature({ publicKey, time, signature }) }
}

function publicOf(key: KeyObject): Uint8Array {
  const { x = '' } = createPrivateKey({
    key: key.export({ format: 'der', type: 'pkcs8' }),
    format: 'der',
    type: 'pkcs8',
  }).export({ format: 'jwk' })
  return new Uint8Array(Buffer.from(x, 'base64url'))
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest()
}

/** Resets the engine to its start with this behaviour. */
export function behave(engine: SharingEngine | undefined, behaviour: Misbehaviour): void {
  if (engine === undefined) throw new Error('there is no such engine')
  Object.assign(engine, { behaviour, patience: 0 })
  engine.requests.length = 0
}
