/** The contract of a chain with an engine: run for each implementation that can hold contracts of our own. */
import { Transaction } from 'micro-eth-signer'
import { beforeAll, describe, expect, it } from 'vitest'
import { artifacts } from '../../components/artifacts/index.ts'
import type { Json } from '../codec/json.ts'
import { type Address, evmAddress } from '../offchain/address.ts'
import { type Account, type Chain, ChainError } from './chain.ts'
import { type AbiItem, decodeAnswer, encodeCall, encodeConstructor, parseFunction } from './evm/abi.ts'
import { createEvmChain, type EvmChain, type EvmOptions } from './evm/evm.ts'
import { createEvmNode } from './evm/node.ts'
import type { JsonRpc } from './json-rpc.ts'

export interface ChainUnderTest {
  readonly rpc: JsonRpc
  readonly id: string
  /** The key of an account that can pay. */
  readonly key: Uint8Array
}

export interface Artifact {
  readonly abi: readonly AbiItem[]
  readonly bytecode: string
}

export const ENGINE_1: Address = `00${'21'.repeat(20)}`
const ENGINE_2: Address = `00${'22'.repeat(20)}`
const DIGEST = '07'.repeat(32)

/** Sends a transaction and says how it ended. */
export async function sent(account: Account, to: Address, payload: Uint8Array): Promise<string> {
  const transaction = await account.sign(to, payload, 0n, await account.fetchNextNonce())
  await account.submit(transaction)
  return account.fetchOutcome(transaction)
}

async function deployed({ rpc, id, key }: ChainUnderTest, { abi, bytecode }: Artifact, values: readonly Json[]) {
  const account = createEvmChain(rpc, { id, confirmations: 0 }).createAccount(key)
  const code = encodeConstructor(abi, bytecode, values)
  const transaction = await account.sign(undefined, code, 0n, await account.fetchNextNonce())
  await account.submit(transaction)
  const created = (await createEvmNode(rpc).fetchReceipt(transaction.hash))?.created
  if (created === undefined) throw new Error('no contract was created')
  return created
}

export function deployedComponent(chain: ChainUnderTest): Promise<Address> {
  const engines = [
    { engine: evmAddress(ENGINE_1), endpoint: 'https://one.example/' },
    { engine: evmAddress(ENGINE_2), endpoint: '' },
  ]
  return deployed(chain, artifacts.Component, [engines, `0x${DIGEST}`, 'https://components.example/a'])
}

export const call = (signature: string, ...values: Json[]): Uint8Array => encodeCall(parseFunction(signature), values)

export function describeChain(name: string, start: () => Promise<ChainUnderTest>): void {
  describe(`the chain port: ${name}`, () => {
    let under: ChainUnderTest
    let contract: Address
    let account: Account
    const open = (options: Partial<EvmOptions> = {}): EvmChain =>
      createEvmChain(under.rpc, { id: under.id, confirmations: 0, ...options })
    let chain: Chain

    beforeAll(async () => {
      under = await start()
      contract = await deployedComponent(under)
      chain = open()
      account = chain.createAccount(under.key)
    })

    it('says where it stands, and knows its own blocks', async () => {
      const head = await chain.fetchHead()
      expect(head.hash).toMatch(/^0x[0-9a-f]{64}$/)
      expect(Math.abs(head.time.getTime() - Date.now())).toBeLessThan(600_000)
      expect(await chain.hasBlock(head)).toBe(true)
      expect(await chain.hasBlock({ ...head, hash: `0x${'00'.repeat(32)}` })).toBe(false)
      expect(await chain.hasBlock({ ...head, number: head.number + 1000 })).toBe(false)
    })

    it('tells the engines and the component of a contract, as they were at a block', async () => {
      const before = await chain.fetchHead()
      expect(await chain.fetchContract(contract, before)).toEqual({
        address: contract,
        engines: [
          { address: ENGINE_1, endpoint: 'https://one.example' },
          { address: ENGINE_2, endpoint: '' },
        ],
        component: { sha256: DIGEST, uri: 'https://components.example/a' },
        state: new Uint8Array(),
      })
      const change = call('setEngines((address engine, string endpoint)[] changed)', [])
      expect(await sent(account, contract, change)).toBe('included')
      expect((await chain.fetchContract(contract, await chain.fetchHead()))?.engines).toEqual([])
      expect((await chain.fetchContract(contract, before))?.engines).toHaveLength(2)
    })

    it('knows no contract where there is none, and none of an account', async () => {
      const head = await chain.fetchHead()
      expect(await chain.fetchContract(`00${'77'.repeat(20)}`, head)).toBeUndefined()
      expect(await chain.fetchContract(account.address, head)).toBeUndefined()
    })

    it('reads what a contract answers, and says why one refuses', async () => {
      const head = await chain.fetchHead()
      const owner = parseFunction('owner() view returns (address)')
      const answer = await chain.read(contract, encodeCall(owner, []), head)
      expect(decodeAnswer(owner, answer)).toBe(evmAddress(account.address))
      const refused = chain.read(contract, call('transferOwnership(address)', evmAddress(ENGINE_1)), head)
      await expect(refused).rejects.toThrow(ChainError)
      await expect(refused).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('0x30cd7471') as string,
      })
    })

    it('finds the contracts that may have changed between two blocks, and no others', async () => {
      const quiet = await deployedComponent(under)
      const from = await chain.fetchHead()
      expect(await chain.listChanged([contract, quiet], from, from)).toEqual([])
      await sent(account, contract, call('post(bytes)', '0x0102'))
      const to = await chain.fetchHead()
      expect(await chain.listChanged([contract, quiet], from, to)).toEqual([contract])
      expect(await chain.listChanged([quiet], from, to)).toEqual([])
      await sent(account, quiet, call('post(bytes)', '0x03'))
      const later = await chain.fetchHead()
      expect(await chain.listChanged([contract, quiet], to, later)).toEqual([quiet])
      expect(await chain.listChanged([contract, quiet], from, later)).toEqual([contract, quiet])
    })

    it('counts the nonces of an account, and takes the same transaction twice for once', async () => {
      const nonce = await account.fetchNextNonce()
      const transaction = await account.sign(contract, call('post(bytes)', '0x04'), 0n, nonce)
      expect(transaction.nonce).toBe(nonce)
      expect(await account.fetchOutcome(transaction)).toBe('pending')
      await account.submit(transaction)
      await account.submit(transaction)
      expect(await account.fetchOutcome(transaction)).toBe('included')
      expect(await account.fetchNextNonce()).toBe(nonce + 1)
    })

    it('includes an empty transaction of the account to itself', async () => {
      expect(account.canFillNonces).toBe(true)
      const nonce = await account.fetchNextNonce()
      expect(await sent(account, account.address, new Uint8Array())).toBe('included')
      expect(await account.fetchNextNonce()).toBe(nonce + 1)
    })

    it('says that a transaction is lost when another took its nonce', async () => {
      const nonce = await account.fetchNextNonce()
      const first = await account.sign(contract, call('post(bytes)', '0x05'), 0n, nonce)
      const second = await account.sign(contract, call('post(bytes)', '0x06'), 0n, nonce)
      await account.submit(first)
      await expect(account.submit(second)).rejects.toThrow(ChainError)
      expect(await account.fetchOutcome(second)).toBe('lost')
      expect(await account.fetchOutcome(first)).toBe('included')
    })

    it('signs nothing that the contract would refuse, and confirms that at a block', async () => {
      const { number } = await chain.fetchHead()
      const change = call('transferOwnership(address)', evmAddress(ENGINE_1))
      for (const [getReachedNumber, kind] of [
        [undefined, 'refused'],
        [() => number, 'refused'],
        [() => number + 100, 'failed'],
      ] as const) {
        const stranger = chain.createAccount(Buffer.from('35'.repeat(32), 'hex'), {}, getReachedNumber)
        await expect(stranger.sign(contract, change, 0n, 0)).rejects.toMatchObject({ name: 'ChainError', kind })
      }
    })

    it('signs nothing that no node takes, and which would be in the way of all later ones', async () => {
      const post = (bytes: number) => call('post(bytes)', `0x${'61'.repeat(bytes)}`)
      const refused = (payload: Uint8Array, gas: bigint) =>
        expect(account.sign(contract, payload, gas, 0)).rejects.toMatchObject({ name: 'ChainError', kind: 'refused' })
      await refused(post(1), 1n)
      await refused(post(1), 21_000n)
      await refused(post(131_072), 0n)
      const transaction = await account.sign(contract, post(1), 2n ** 63n, await account.fetchNextNonce())
      await account.submit(transaction)
      expect(await account.fetchOutcome(transaction)).toBe('included')
    })

    it('gives no transaction more gas than the account may, and signs none that needs more', async () => {
      const post = call('post(bytes)', '0x08')
      const careful = chain.createAccount(under.key, { mostGas: 100_000n })
      const transaction = await careful.sign(contract, post, 2n ** 23n, await careful.fetchNextNonce())
      expect(Transaction.fromHex(transaction.raw).raw.gasLimit).toBe(100_000n)
      await careful.submit(transaction)
      expect(await careful.fetchOutcome(transaction)).toBe('included')
      await expect(
        chain.createAccount(under.key, { mostGas: 22_000n }).sign(contract, post, 0n, 0),
      ).rejects.toMatchObject({
        name: 'ChainError',
        kind: 'refused',
        message: expect.stringMatching(
          /^it takes \d+ gas, and this account gives a transaction 22000 at most$/,
        ) as string,
      })
    })

    it('says that a transaction failed when the contract refused it in its block', async () => {
      const owned = await deployedComponent(under)
      const nonce = await account.fetchNextNonce()
      const away = await account.sign(owned, call('transferOwnership(address)', evmAddress(ENGINE_1)), 0n, nonce)
      const tooLate = await account.sign(owned, call('transferOwnership(address)', evmAddress(owned)), 0n, nonce + 1)
      await account.submit(away)
      await account.submit(tooLate)
      expect(await account.fetchOutcome(away)).toBe('included')
      expect(await account.fetchOutcome(tooLate)).toBe('failed')
    })

    it('says that a transaction ran out of its gas', async () => {
      const change = call('transferOwnership(address)', evmAddress(account.address))
      // Too little to get through, and enough to be in a block.
      const transaction = await account.sign(contract, change, 24_000n, await account.fetchNextNonce())
      await account.submit(transaction)
      expect(await account.fetchOutcome(transaction)).toBe('exhausted')
    })

    it('waits for the confirmations that it was told', async () => {
      const careful = open({ confirmations: 2 })
      await under.rpc('evm_mine', [])
      await under.rpc('evm_mine', [])
      const before = await careful.fetchHead()
      const transaction = await account.sign(contract, call('post(bytes)', '0x07'), 0n, await account.fetchNextNonce())
      const waiting = careful.createAccount(under.key)
      await waiting.submit(transaction)
      expect(await waiting.fetchOutcome(transaction)).toBe('unconfirmed')
      const after = await careful.fetchHead()
      expect([after.number, after.newest.number]).toEqual([before.number + 1, before.number + 3])
      expect(await careful.listChanged([contract], before, await careful.fetchHead())).toEqual([])
      await under.rpc('evm_mine', [])
      await under.rpc('evm_mine', [])
      expect(await waiting.fetchOutcome(transaction)).toBe('included')
      expect(await careful.listChanged([contract], before, await careful.fetchHead())).toEqual([contract])
    })

    it('refuses a node of another chain', async () => {
      const other = open({ id: '5' })
      await expect(other.fetchHead()).rejects.toThrow(`the node is of chain ${under.id}, and the configuration says 5`)
      await expect(other.createAccount(under.key).fetchNextNonce()).rejects.toThrow(ChainError)
    })
  })
}
