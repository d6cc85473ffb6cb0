/**
 * The chain port over a reader node of Partisia Blockchain. UNVERIFIED, as `reader.ts` says. A block is final as soon
 * as it exists. Each shard has its own blocks; the head is the lowest of their newest blocks, so that every shard has
 * reached its height. The format of a contract's state is not documented, so the component lists the engines of the
 * contract (`hook.engines`), and the operator configures the component. The node cannot be asked for changed contracts,
 * so every contract counts as changed.
 */

import { readOrUndefined } from '../../codec/malformed.ts'
import type { Address } from '../../offchain/address.ts'
import { accountOfKey } from '../../offchain/authentication/recover.ts'
import { reader as rpcReader } from '../../offchain/rpc.ts'
import { type Account, type Block, type Chain, ChainError, type Head, type TransactionOutcome } from '../chain.ts'
import { createPartisiaReader, type JsonHttp, type PartisiaReader, type ShardBlock } from './reader.ts'
import { signTransaction, validTo } from './transaction.ts'

export interface PartisiaOptions {
  /** The name of the chain, such as `Partisia Blockchain`; the name that the node returns is compared with it. */
  readonly id: string
  /** The gas of a transaction for which the component chose none; the node cannot estimate gas. */
  readonly defaultGas: bigint
}

/** The time for which a transaction is valid: it must be in a block before. */
const VALID_MS = 10 * 60_000

/** Makes the chain port on a reader node. */
export function createPartisiaChain(http: JsonHttp, { id, defaultGas }: PartisiaOptions): Chain {
  const reader = createPartisiaReader(http)
  const fetchHead = (): Promise<Head> => readHead(reader, id)
  return {
    id,
    addresses: 'partisia',
    fetchHead,
    hasBlock: async ({ hash }) => {
      const [shard = '', identifier = ''] = hash.split(':')
      return (await reader.fetchBlock(shard, identifier)) !== undefined
    },
    fetchContract: async (address, { number }) => {
      const state = await reader.fetchState(address, number)
      return state === undefined ? undefined : { address, engines: undefined, component: undefined, state }
    },
    read: (address, input) => readTreeValue(reader, address, input),
    listChanged: (addresses, from, to) => Promise.resolve(to.number > from.number ? addresses : []),
    // Gas has no price of its own on Partisia, so that only its amount is limited.
    createAccount: (key, limits) => createAccount({ reader, id, defaultGas, fetchHead, mostGas: limits?.mostGas }, key),
  }
}

async function readHead(reader: PartisiaReader, id: string): Promise<Head> {
  const chain = await reader.fetchChain()
  if (chain === undefined) throw new ChainError('this is not a reader node: it has no /chain')
  if (chain.id !== id) {
    throw new ChainError(`the node is of chain ${chain.id}, and the configuration says ${id}: one of them is wrong`)
  }
  const newest = await Promise.all(chain.shards.map((shard) => reader.fetchLatestBlock(shard)))
  const [lowest] = newest
    .filter((block): block is ShardBlock => block !== undefined)
    .sort((a, b) => a.blockTime - b.blockTime)
  if (lowest === undefined || newest.includes(undefined))
    throw new ChainError('the reader node lacks the blocks of a shard')
  const { shard, identifier, blockTime, productionTime } = lowest
  const block: Block = { number: blockTime, hash: `${shard}:${identifier}`, time: new Date(productionTime) }
  return { ...block, newest: block }
}

/**
 * Reads the current value of a tree entry; the node does not keep trees by block. `input` is the id of the tree (i32),
 * and the key. Throws a ChainError when there is no such key.
 */
async function readTreeValue(reader: PartisiaReader, address: Address, input: Uint8Array): Promise<Uint8Array> {
  const { tree, key } = readOrUndefined(() => readTreeKey(input)) ?? refuseTreeKey()
  const value = await reader.fetchTreeValue(address, tree, Buffer.from(key).toString('hex'))
  if (value === undefined)
    throw new ChainError(`there is no such key in tree ${tree} of ${address}`, { kind: 'refused' })
  return value
}

function readTreeKey(input: Uint8Array): { readonly tree: number; readonly key: Uint8Array } {
  const from = rpcReader(input)
  return { tree: from.i32(), key: from.rest() }
}

function refuseTreeKey(): never {
  throw new ChainError('what is to be read must be the id of a tree and a key', { kind: 'refused' })
}

interface AccountOptions {
  readonly reader: PartisiaReader
  readonly id: string
  readonly defaultGas: bigint
  readonly fetchHead: () => Promise<Head>
  /** The most gas of a transaction; undefined for no limit beside the gas that the component chose. */
  readonly mostGas: bigint | undefined
}

function createAccount({ reader, id, defaultGas, fetchHead, mostGas }: AccountOptions, key: Uint8Array): Account {
  const address = accountOfKey(key, 'partisia')
  const fetchExistingAccount = async () => {
    const account = await reader.fetchAccount(address)
    if (account === undefined) throw new ChainError(`there is no account ${address} yet: it needs gas first`)
    return account
  }
  return {
    address,
    canFillNonces: false,
    fetchNextNonce: async () => (await fetchExistingAccount()).nonce,
    sign: async (to, payload, gas, nonce) => {
      const { time } = await fetchHead()
      const limit = gas === 0n ? defaultGas : gas
      const gasLimit = mostGas === undefined || limit < mostGas ? limit : mostGas
      const unsignedTransaction = { nonce, validTo: time.getTime() + VALID_MS, gas: gasLimit, to, payload }
      return signTransaction(unsignedTransaction, id, key)
    },
    submit: ({ raw }) => reader.putTransaction(Buffer.from(raw, 'hex').toString('base64')),
    fetchOutcome: async (transaction): Promise<TransactionOutcome> => {
      const { shard, nonce } = await fetchExistingAccount()
      const executedTransaction = await reader.fetchTransaction(shard, transaction.hash)
      if (executedTransaction !== undefined)
        return executedTransaction.finalized ? (executedTransaction.success ? 'included' : 'failed') : 'pending'
      if (nonce > transaction.nonce) return 'lost'
      return (await fetchHead()).time.getTime() > validTo(transaction) ? 'expired' : 'pending'
    },
  }
}
