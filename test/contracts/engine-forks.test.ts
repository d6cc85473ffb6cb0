/**
 * Engines on a Hardhat node that takes back more blocks than they wait for, after which a stranger has the ids of the
 * owner.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { downloadSecret } from '../../sdk/client/download.ts'
import { prepareUpload, upload } from '../../sdk/client/upload.ts'
import { readArtifact } from '../../src/bin/chain/artifact.ts'
import { decodeAnswer, encodeCall } from '../../src/chain/evm/abi.ts'
import type { Json } from '../../src/codec/json.ts'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import {
  deployComponent,
  keepComponent,
  nextContracts,
  ownerOf,
  type Place,
  place,
  send,
} from '../support/engine-contracts.ts'
import { type EngineProcess, eventually, makeEngine, waitUntilServed } from '../support/engine-process.ts'
import { HARDHAT_KEY, type Hardhat, startHardhat } from '../support/hardhat.ts'

const DIST = join(import.meta.dirname, '..', '..', 'dist', 'components')
const [SHARING, KEYS] = [join(DIST, 'secret-sharing.js'), join(DIST, 'key-management.js')]
const STARTS_MS = 600_000
const CONFIRMATIONS = 2
/** The time between blocks, and between two looks of an engine at them. */
const BLOCK_MS = 300

let node: Hardhat
let [owner, stranger]: Place[] = []
let engines: readonly EngineProcess[] = []
let contracts: { readonly sharing: Address; readonly keys: Address }

beforeAll(async () => {
  node = await startHardhat()
  owner = await place({ rpc: node.url, money: HARDHAT_KEY })
  stranger = await place({ rpc: node.url, money: randomBytes(32).fill(1, 0, 1) })
  const chain = { type: 'evm', rpcUrl: node.url, confirmations: CONFIRMATIONS, blocksOnDemand: true }
  const contractFilter = await nextContracts(owner)
  engines = await Promise.all([0, 1].map(() => makeEngine({ chain, contractFilter, pollMilliseconds: BLOCK_MS })))
  const accounts = [
    ...engines.map(({ address }) => address),
    stranger.chain.createAccount(stranger.readAccountKey()).address,
  ]
  for (const address of accounts) await owner.rpc('hardhat_setBalance', [evmAddress(address), '0xde0b6b3a7640000'])
  for (const engine of engines) for (const file of [SHARING, KEYS]) keepComponent(engine, readFileSync(file))
  await Promise.all(engines.map((engine) => engine.start()))
  const sharing = await deployComponent(owner, 'SecretSharing', SHARING, engines)
  contracts = { sharing, keys: await deployComponent(owner, 'KeyManagement', KEYS, engines) }
  await mine(CONFIRMATIONS)
  for (const contract of [contracts.sharing, contracts.keys]) await waitUntilServed(engines, contract)
}, STARTS_MS)
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.remove()))
  await node.stop()
}, STARTS_MS)

const mine = (blocks: number): Promise<unknown> => (owner as Place).rpc('hardhat_mine', [`0x${blocks.toString(16)}`])
const ask = async (name: 'SecretSharing' | 'KeyManagement', method: string, args: readonly Json[]) => {
  const item = readArtifact(name).abi.find((each) => each.type === 'function' && each.name === method)
  if (item === undefined) throw new Error(`there is no ${method}`)
  const { chain } = owner as Place
  const address = name === 'SecretSharing' ? contracts.sharing : contracts.keys
  return decodeAnswer(item, await chain.read(address, encodeCall(item, args), await chain.fetchHead()))
}
const keyOf = async () => (await ask('KeyManagement', 'key', ['1'])) as { status: string; publicKey: string }
/** With a block now and then, as the engines act on none that has too few others on it. */
const whenMined = <T>(look: () => Promise<T>): Promise<Exclude<T, false | undefined>> =>
  eventually(
    async () => {
      await mine(1)
      return look()
    },
    STARTS_MS,
    BLOCK_MS,
  ) as Promise<Exclude<T, false | undefined>>
const createKey = (from: Place) => {
  const signers = [evmAddress(from.chain.createAccount(from.readAccountKey()).address)]
  const policy = { signers, notAfter: '0', sharesPerDay: '0', prefix: '0x' }
  return send(from, contracts.keys, 'KeyManagement', 'createKey', ['1', '2', policy])
}
const activeKey = () =>
  whenMined(async () => {
    const key = await keyOf()
    return key.status === '4' && key.publicKey
  })

it(
  'hand over neither the secret nor the key of an owner, and say that the chain took back what they had acted on',
  async () => {
    const [before, after] = [owner as Place, stranger as Place]
    const fork = await before.rpc('evm_snapshot', [])
    const mining = setInterval(() => void mine(1).catch(() => undefined), BLOCK_MS)
    const secret = ownerOf(before, contracts.sharing)
    const prepared = await prepareUpload(secret, { secret: randomBytes(100), threshold: 2, id: 7n })
    expect((await upload(secret, prepared)).complete).toBe(true)
    clearInterval(mining)
    const { commitments } = (await ask('SecretSharing', 'sharing', ['7'])) as { commitments: Json }
    await createKey(before)
    const first = await activeKey()

    await before.rpc('evm_revert', [fork])
    await send(after, contracts.sharing, 'SecretSharing', 'registerSharing', ['7', '2', commitments])
    await createKey(after)
    await mine(CONFIRMATIONS + 200)
    const second = await activeKey()
    expect(second).not.toBe(first)
    for (const engine of engines) {
      const events = engine.log().map((line) => JSON.stringify([line.event, line.contract]))
      for (const contract of [contracts.sharing, contracts.keys]) {
        expect(events).toContain(JSON.stringify(['acted_on_lost_block', contract]))
        expect(events).toContain(JSON.stringify(['reconciled', contract]))
      }
    }
    const { uploaded } = (await ask('SecretSharing', 'sharing', ['7'])) as { uploaded: boolean[] }
    expect(uploaded).toEqual([false, false])
    await expect(downloadSecret(ownerOf(after, contracts.sharing), { id: 7n })).rejects.toThrow()
  },
  STARTS_MS,
)
