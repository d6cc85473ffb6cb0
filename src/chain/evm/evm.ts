/**
 * The chain port over the JSON-RPC of any EVM chain. A block is final enough when so many others stand on it: the
 * operator says how many. The node's own `finalized` is not asked, as nodes without consensus give their latest block
 * for it.
 *
 * State is read by the number of a block: to read by its hash (EIP-1898) is not offered everywhere. A reorganisation
 * deeper than the confirmations is seen by {@link Chain.hasBlock}, and whoever uses this port asks for it.
 */
import { cacheValue } from '../../async/cache.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import { type Block, type Chain, ChainError, ChainRefusal, type Head, type OffChainContract } from '../chain.ts'
import { AnswerTooLargeError, type JsonRpc, JsonRpcError } from '../json-rpc.ts'
import { type EvmAccount, evmAccount } from './account.ts'
import { readComponentReference, readContracts, readEngines, selector } from './contract.ts'
import { type EvmNode, evmNode, UnreadableAnswer } from './node.ts'
import { reading } from './values.ts'

export interface EvmOptions {
  /**
   * The decimal chain id. What the node says of itself is compared with it, before the node is asked for anything else.
   */
  readonly id: string
  /** How many blocks must stand on one before it counts; 0 takes the latest. */
  readonly confirmations: number
  /** A contract with `contracts() returns (address[])`, which lists those with an off-chain component. */
  readonly registry?: Address
  /** Is told what makes no sense in the answers of a contract. */
  readonly note?: (problem: string) => void
}

export interface EvmChain extends Chain {
  createAccount(key: Uint8Array, mostGas?: bigint): EvmAccount
}

/** The number of blocks in one question for logs; fewer, where the node finds them too many. */
const LOG_BLOCKS = 1000
const LOG_ADDRESSES = 100
/**
 * The number of blocks after which every contract counts as changed: looking through them would take longer than
 * running every hook.
 */
const MAX_LOOKED_THROUGH = 20_000

/** Returns the chain id that a node says it has, decimal. Rejects with a ChainError. */
export async function chainIdOf(rpc: JsonRpc): Promise<string> {
  return (await evmNode(rpc).chainId()).toString()
}

export function evmChain(rpc: JsonRpc, options: EvmOptions): EvmChain {
  const { id, confirmations, registry, note } = options
  const ready = oncePerConnection(rpc, id)
  const node = evmNode(ready.rpc)
  const headNumber = async (): Promise<number> => Math.max(0, (await node.blockNumber()) - confirmations)
  return {
    id,
    addresses: 'evm',
    fetchHead: async () => {
      await ready.check()
      return headOf(node, confirmations)
    },
    hasBlock: async ({ number, hash }) => {
      await ready.check()
      return (await node.block(number))?.hash === hash
    },
    ...(registry === undefined ? {} : { listContracts: registryOf(node, registry, ready.check) }),
    fetchContract: async (address, block) => {
      await ready.check()
      return contractOf(node, { address, block, note: note ?? (() => undefined) })
    },
    read: async (address, input, { number }) => {
      await ready.check()
      return node.call({ to: address, input }, number)
    },
    listChanged: async (addresses, from, to) => {
      if (addresses.length === 0 || to.number <= from.number) return []
      if (to.number - from.number > MAX_LOOKED_THROUGH) return addresses
      await ready.check()
      const logged = await loggedIn(node, addresses, { from: from.number + 1, to: to.number })
      return addresses.filter((address) => logged.has(address))
    },
    createAccount: (key, mostGas) =>
      evmAccount(key, { node, chainId: BigInt(id), head: headNumber, ready: ready.check, mostGas }),
  }
}

async function headOf(node: EvmNode, confirmations: number): Promise<Head> {
  const newest = await node.block('latest')
  const number = newest && Math.max(0, newest.number - confirmations)
  const block = number === undefined || number === newest?.number ? newest : await node.block(number)
  if (newest === undefined || block === undefined) {
    throw new ChainError('the node of the chain does not have its own newest blocks')
  }
  return { ...plainBlock(block), newest: plainBlock(newest) }
}

function plainBlock({ number, hash, time }: Block): Block {
  return { number, hash, time }
}

interface Connection {
  readonly rpc: JsonRpc
  readonly check: () => Promise<void>
}

/**
 * Makes a connection that asks the node which chain it is of, and again whenever the node could not be reached in
 * between, since it may be of another chain then.
 */
function oncePerConnection(rpc: JsonRpc, id: string): Connection {
  const checked = cacheValue(async () => {
    const nodeChainId = await chainIdOf(rpc)
    if (nodeChainId !== id) {
      throw new ChainError(
        `the node is of chain ${nodeChainId}, and the configuration says ${id}: one of them is wrong`,
      )
    }
  })
  return {
    rpc: (method, params) =>
      rpc(method, params).catch((error: unknown) => {
        if (!(error instanceof JsonRpcError || error instanceof AnswerTooLargeError)) checked.invalidate()
        throw error
      }),
    check: checked.get,
  }
}

function registryOf(
  node: EvmNode,
  registry: Address,
  check: () => Promise<void>,
): (block: Block) => Promise<readonly Address[]> {
  return async ({ number }) => {
    await check()
    const answer = await node.call({ to: registry, input: selector.contracts }, number)
    return reading(
      () => readContracts(answer),
      (why) => {
        throw new ChainError(
          `the registry ${evmAddress(registry)} answers contracts() with what cannot be read: ${why}`,
        )
      },
    )
  }
}

interface ContractReading {
  readonly address: Address
  readonly block: Block
  readonly note: (problem: string) => void
}

async function contractOf(
  node: EvmNode,
  { address, block, note }: ContractReading,
): Promise<OffChainContract | undefined> {
  const ask = async <T>(name: 'engines' | 'component', read: (answer: Uint8Array) => T): Promise<T | undefined> => {
    const answer = await node.call({ to: address, input: selector[name] }, block.number).catch((error: unknown) => {
      if (error instanceof UnreadableAnswer)
        throw new Unreadable(`contract ${evmAddress(address)}: ${name}(): ${(error as Error).message}`)
      unlessReverted(error)
      return undefined
    })
    if (answer === undefined || answer.length === 0) return undefined
    return reading(
      () => read(answer),
      (why): never => {
        throw new Unreadable(`contract ${evmAddress(address)}: what ${name}() answers cannot be read: ${why}`)
      },
    )
  }
  try {
    const engines = await ask('engines', readEngines)
    if (engines === undefined) return undefined
    return { address, engines, component: await ask('component', readComponentReference), state: new Uint8Array() }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    note(error.message)
    return undefined
  }
}

class Unreadable extends Error {}

function unlessReverted(error: unknown): void {
  if (!(error instanceof ChainError && error.reverted)) throw error
}

interface Blocks {
  readonly from: number
  readonly to: number
}

async function loggedIn(node: EvmNode, addresses: readonly Address[], blocks: Blocks): Promise<ReadonlySet<Address>> {
  const emitters = new Set<Address>()
  for (let at = 0; at < addresses.length; at += LOG_ADDRESSES) {
    const some = addresses.slice(at, at + LOG_ADDRESSES)
    for (let from = blocks.from; from <= blocks.to; from += LOG_BLOCKS) {
      const to = Math.min(blocks.to, from + LOG_BLOCKS - 1)
      for (const address of await logsOf(node, some, { from, to })) emitters.add(address)
      if (some.every((address) => emitters.has(address))) break
    }
  }
  return emitters
}

/**
 * Finds which addresses have logs in the blocks. Where the node refuses so many blocks or its answer is too large, they
 * are asked for in halves; where that is so with one block, all of `addresses` count, since one contract must not hide
 * what others say.
 */
async function logsOf(node: EvmNode, addresses: readonly Address[], { from, to }: Blocks): Promise<readonly Address[]> {
  try {
    return await node.logged(addresses, from, to)
  } catch (error) {
    if (!(error instanceof ChainRefusal)) throw error
    if (from === to) return addresses
    const middle = Math.floor((from + to) / 2)
    const first = await logsOf(node, addresses, { from, to: middle })
    // There are no more than all of them.
    return first === addresses ? addresses : [...first, ...(await logsOf(node, addresses, { from: middle + 1, to }))]
  }
}
