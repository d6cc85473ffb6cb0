/**
 * The reader of Partisia Blockchain, against answers made after its published interface: it has never asked a live
 * node.
 */

import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { describe, expect, it } from 'vitest'
import { createPartisiaChain } from '../../src/chain/partisia/partisia.ts'
import type { JsonAnswer, JsonHttp } from '../../src/chain/partisia/reader.ts'
import type { Json } from '../../src/codec/json.ts'

const ID = 'Partisia Blockchain'
const CONTRACT = `02${'11'.repeat(20)}`
/** The private key 2 of the facts, and its address. */
const KEY = Buffer.from('02'.padStart(64, '0'), 'hex')
const ADDRESS = '00b2e734b5d8da089318d0d2b076c19f59c450855a'

const block = (blockTime: number): Json => {
  return { identifier: `b${blockTime}`, blockTime, productionTime: 1_700_000_000_000 + blockTime, transactions: [] }
}

const ANSWERS: Readonly<Record<string, Json>> = {
  '/chain': { chainId: ID, shards: ['Shard0', 'Shard1'], governanceVersion: 1 },
  '/chain/shards/Shard0/blocks': block(120),
  '/chain/shards/Shard1/blocks': block(100),
  '/chain/shards/Shard1/blocks/b100': block(100),
  [`/chain/contracts/${CONTRACT}?blockTime=100`]: { serializedContract: 'AQID', shardId: 'Shard0' },
  [`/chain/contracts/${CONTRACT}/avl/3/value/0a0b`]: { data: 'BAU=' },
  [`/chain/accounts/${ADDRESS}`]: { nonce: 4, shardId: 'Shard0' },
}

function answering(changes: Readonly<Record<string, Json | number>> = {}) {
  const puts: Json[] = []
  const all = { ...ANSWERS, ...changes }
  const http: JsonHttp = (method, path, body): Promise<JsonAnswer> => {
    if (method === 'PUT') puts.push(body ?? null)
    const answer = method === 'PUT' ? {} : all[path]
    return Promise.resolve(typeof answer === 'number' ? { status: answer, body: undefined } : answered(answer))
  }
  return { chain: createPartisiaChain(http, { id: ID, defaultGas: 50_000n }), puts, all }
}

function answered(body: Json | undefined): JsonAnswer {
  return body === undefined ? { status: 404, body: undefined } : { status: 200, body }
}

describe('a reader node of Partisia Blockchain', () => {
  it('has come as far as its slowest shard', async () => {
    const { chain } = answering()
    const head = await chain.fetchHead()
    expect(head).toMatchObject({ number: 100, hash: 'Shard1:b100', time: new Date(1_700_000_000_100) })
    expect(await chain.hasBlock(head)).toBe(true)
    expect(await chain.hasBlock({ ...head, hash: 'Shard1:other' })).toBe(false)
  })

  it('gives the state of a contract, of which its component tells the engines', async () => {
    const { chain } = answering()
    const head = await chain.fetchHead()
    const state = Buffer.from([1, 2, 3])
    expect(await chain.fetchContract(CONTRACT, head)).toEqual({
      address: CONTRACT,
      engines: undefined,
      component: undefined,
      state,
    })
    expect(await chain.fetchContract(`02${'22'.repeat(20)}`, head)).toBeUndefined()
    expect(await chain.listChanged([CONTRACT], { ...head, number: 99 }, head)).toEqual([CONTRACT])
    expect(await chain.listChanged([CONTRACT], head, head)).toEqual([])
  })

  it('gives values of a tree by their key', async () => {
    const { chain } = answering()
    const head = await chain.fetchHead()
    expect(await chain.read(CONTRACT, Buffer.from('000000030a0b', 'hex'), head)).toEqual(Buffer.from([4, 5]))
    const missing = chain.read(CONTRACT, Buffer.from('00000003ff', 'hex'), head)
    await expect(missing).rejects.toMatchObject({ name: 'ChainError', kind: 'refused' })
    const short = chain.read(CONTRACT, Buffer.from('0003', 'hex'), head)
    await expect(short).rejects.toMatchObject({ name: 'ChainError', kind: 'refused' })
  })

  it('takes transactions in its own form, signed for its chain', async () => {
    const { chain, puts } = answering()
    const account = chain.createAccount(KEY)
    expect(account.address).toBe(ADDRESS)
    expect(await account.fetchNextNonce()).toBe(4)
    const transaction = await account.sign(CONTRACT, Buffer.from([9, 8]), 0n, 4)
    const raw = Buffer.from(transaction.raw, 'hex')
    const [signature, inner] = [raw.subarray(0, 65), raw.subarray(65)]
    const validTo = Buffer.alloc(8)
    validTo.writeBigInt64BE(1_700_000_000_100n + 600_000n)
    expect(inner.toString('hex')).toBe(
      `0000000000000004${validTo.toString('hex')}000000000000c350${CONTRACT}000000020908`,
    )
    const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest()
    const length = Buffer.from([0, 0, 0, ID.length])
    const digest = sha256(Buffer.concat([inner, length, Buffer.from(ID)]))
    const signer = secp256k1.recoverPublicKey(signature, digest, { prehash: false })
    expect(Buffer.from(signer)).toEqual(Buffer.from(secp256k1.getPublicKey(KEY)))
    expect(transaction.hash).toBe(sha256(Buffer.concat([digest, signature])).toString('hex'))
    await account.submit(transaction)
    expect(puts).toEqual([{ payload: raw.toString('base64') }])
  })

  it.each<[string, string, Readonly<Record<string, Json>>]>([
    ['unknown', 'pending', {}],
    ['known, and in no block', 'pending', { transaction: {} }],
    [
      'in a block that is not final',
      'pending',
      { transaction: { executionStatus: { success: true, finalized: false } } },
    ],
    ['done', 'included', { transaction: { executionStatus: { success: true, finalized: true } } }],
    ['refused', 'failed', { transaction: { executionStatus: { success: false, finalized: true } } }],
    ['unknown, and its nonce is used', 'lost', { [`/chain/accounts/${ADDRESS}`]: { nonce: 5, shardId: 'Shard0' } }],
    [
      'unknown, and its time is over',
      'expired',
      { '/chain/shards/Shard1/blocks': { ...(block(101) as object), productionTime: 1_800_000_000_000 } },
    ],
  ])('says of a transaction that is %s: %s', async (_, outcome, { transaction: found, ...changes }) => {
    const signed = await answering().chain.createAccount(KEY).sign(CONTRACT, Buffer.alloc(1), 0n, 4)
    const there = found === undefined ? {} : { [`/chain/shards/Shard0/transactions/${signed.hash}`]: found }
    expect(
      await answering({ ...changes, ...there })
        .chain.createAccount(KEY)
        .fetchOutcome(signed),
    ).toBe(outcome)
  })

  it.each([
    [1_700_000_000_100 + 600_000, 'pending'],
    [1_700_000_000_101 + 600_000, 'expired'],
  ])('has not included a transaction of ten minutes ago at %i: it is %s', async (productionTime, outcome) => {
    const signed = await answering().chain.createAccount(KEY).sign(CONTRACT, Buffer.alloc(1), 0n, 4)
    const later = { '/chain/shards/Shard1/blocks': { ...(block(101) as object), productionTime } }
    expect(await answering(later).chain.createAccount(KEY).fetchOutcome(signed)).toBe(outcome)
  })

  it('says of a transaction whose end it does not say that it is pending', async () => {
    const signed = await answering().chain.createAccount(KEY).sign(CONTRACT, Buffer.alloc(1), 0n, 4)
    const unsaid = { [`/chain/shards/Shard0/transactions/${signed.hash}`]: { executionStatus: { success: true } } }
    expect(await answering(unsaid).chain.createAccount(KEY).fetchOutcome(signed)).toBe('pending')
  })

  it.each([
    [0n, 40_000n],
    [90_000n, 40_000n],
    [30_000n, 30_000n],
  ])('gives a transaction of the gas %i no more than its account may spend', async (gas, expected) => {
    const account = answering().chain.createAccount(KEY, { mostGas: 40_000n })
    const { raw } = await account.sign(CONTRACT, Buffer.alloc(1), gas, 4)
    expect(Buffer.from(raw, 'hex').readBigInt64BE(65 + 16)).toBe(expected)
  })

  it('may name a shard and a block as it likes: a path has them as one part', async () => {
    const shard = 'Shard/1?a'
    const path = '/chain/shards/Shard%2F1%3Fa/blocks'
    const answers = {
      '/chain': { chainId: ID, shards: [shard] },
      [path]: { ...(block(9) as object), identifier: 'b/9' },
    }
    const { chain } = answering({ ...answers, [`${path}/b%2F9`]: block(9) })
    const head = await chain.fetchHead()
    expect(head).toMatchObject({ number: 9, hash: `${shard}:b/9` })
    expect(await chain.hasBlock(head)).toBe(true)
  })

  it.each([
    ['is not base64', 'A-ID', 'is not base64'],
    ['is too long', 'A'.repeat(16 * 1024 * 1024 + 4), 'or too long a one'],
  ])('has a state that %s: it concerns the one contract', async (_, serializedContract, message) => {
    const { chain } = answering({
      [`/chain/contracts/${CONTRACT}?blockTime=100`]: { serializedContract, shardId: 'Shard0' },
    })
    const read = chain.fetchContract(CONTRACT, await chain.fetchHead())
    await expect(read).rejects.toMatchObject({ kind: 'failed', message: expect.stringContaining(message) as string })
  })

  it.each<[string, Readonly<Record<string, Json | number>>, string]>([
    ['is of another chain', { '/chain': { chainId: 'Testnet', shards: ['Shard0'] } }, 'the node is of chain Testnet'],
    ['has no shards', { '/chain': { chainId: ID, shards: [] } }, 'it has no shards'],
    ['says nonsense', { '/chain': 'no' }, 'it is not an object'],
    ['is broken', { '/chain': 500 }, 'with status 500'],
    ['lacks a shard', { '/chain/shards/Shard1/blocks': 404 }, 'lacks the blocks of a shard'],
    ['has a block of no height', { '/chain/shards/Shard1/blocks': block(-1) }, 'it has no blockTime'],
    [
      'has a block of no time',
      { '/chain/shards/Shard1/blocks': { ...(block(101) as object), productionTime: 9e15 } },
      'its productionTime is out of range',
    ],
    ['has a block without a height', { '/chain/shards/Shard1/blocks': { identifier: 'b' } }, 'it has no blockTime'],
  ])('%s: it is refused', async (_, changes, message) => {
    await expect(answering(changes).chain.fetchHead()).rejects.toMatchObject({
      name: 'ChainError',
      kind: expect.stringMatching(/^(unreachable|failed)$/) as string,
      message: expect.stringContaining(message) as string,
    })
  })

  it('answers what cannot be read: that concerns the one request, as with a status that says no', async () => {
    const answers = [{ '/chain': 'no' }, { '/chain': 500 }]
    for (const changes of answers)
      await expect(answering(changes).chain.fetchHead()).rejects.toMatchObject({ kind: 'failed' })
  })

  it('cannot be reached: the chain cannot be asked', async () => {
    const chain = createPartisiaChain(() => Promise.reject(new Error('gone')), { id: ID, defaultGas: 1n })
    await expect(chain.fetchHead()).rejects.toThrow('the chain cannot be asked: gone')
  })
})
