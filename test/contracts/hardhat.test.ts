/** The chain port, and the chain of an application, on a real `hardhat node`, over HTTP. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { engineClient } from '../../sdk/client/engine-client.ts'
import { nodeChain } from '../../sdk/client/node-chain.ts'
import { accountTransactor } from '../../sdk/client/transactor.ts'
import { createHttpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { call, deployedComponent, describeChain, ENGINE_1 } from '../../src/chain/chain.contract.ts'
import { type EvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import type { Address } from '../../src/offchain/address.ts'
import { HARDHAT_KEY, type Hardhat, startHardhat } from '../support/hardhat.ts'

const STARTS_MS = 600_000
let hardhat: Hardhat

beforeAll(async () => {
  hardhat = await startHardhat()
}, STARTS_MS)
afterAll(() => hardhat.stop())

const underTest = async () => {
  const rpc = createHttpJsonRpc(hardhat.url, createOutbound())
  return { rpc, id: await fetchChainId(rpc), key: HARDHAT_KEY }
}

describeChain('a hardhat node', underTest)

describe('the chain of an application: a hardhat node, by fetch', () => {
  const now = (): Date => new Date()
  const wait = (ms: number): Promise<void> => sleep(ms)
  let chain: EvmChain
  let contract: Address

  beforeAll(async () => {
    chain = await nodeChain(hardhat.url, { fetch })
    contract = await deployedComponent(await underTest())
  })

  it('tells the client the engines of a contract, and its component', async () => {
    const client = engineClient({ chain, contract, fetch, now, random: randomBytes, wait })
    const { engines, block } = await client.engines()
    expect(engines[0]).toEqual({ address: ENGINE_1, endpoint: 'https://one.example' })
    expect((await chain.fetchContract(contract, block))?.component?.uri).toBe('https://components.example/a')
  })

  it('includes what its owner sends, and refuses it from anybody else', async () => {
    const change = call('setComponent(bytes32,string)', `0x${'08'.repeat(32)}`, 'https://components.example/b')
    const stranger = accountTransactor(chain, Buffer.alloc(32, 0x61), { now, wait })
    const notOwner = { code: 'refused-by-chain', message: expect.stringContaining('0x30cd7471') as string }
    await expect(stranger.send(contract, change)).rejects.toMatchObject(notOwner)
    await accountTransactor(chain, HARDHAT_KEY, { now, wait }).send(contract, change)
    const { component } = (await chain.fetchContract(contract, await chain.fetchHead())) ?? {}
    expect(component).toEqual({ sha256: '08'.repeat(32), uri: 'https://components.example/b' })
  })

  it('has no answer of a node that is none', async () => {
    const silent: typeof fetch = () => Promise.resolve(new Response('<html>'))
    await expect(nodeChain(hardhat.url, { fetch: silent })).rejects.toThrow('its node answers with no JSON-RPC')
  })
})
