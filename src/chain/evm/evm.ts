/**
 * The chain port over the JSON-RPC of any EVM chain. A block counts when it has the number of confirmations that the
 * operator configured. The tag `finalized` is not used, because nodes without consensus return their latest block for
 * it. State is read by the number of a block, because not all nodes support reading by its hash (EIP-1898). {@link
 * Chain.hasBlock} detects a reorganisation that is deeper than the confirmations; the caller has to call it.
 */

import { cacheValue } from '../../async/cache.ts'
import { readOrElse } from '../../codec/malformed.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import {
  type Block,
  type Chain,
  ChainError,
  type Head,
  isRefused,
  type OffChainContract,
  type SpendingLimits,
} from '../chain.ts'
import { AnswerTooLargeError, type JsonRpc, JsonRpcError } from '../json-rpc.ts'
import { createEvmAccount, type EvmAccount } from './account.ts'
import { createChangeFinder } from './changed-contracts.ts'
import { readComponentReference, readContracts, readEngines, selector } from './contract.ts'
import { createEvmNode, type EvmNode, UnreadableAnswer } from './node.ts'
import { DataTooLargeError } from './values.ts'

export interface EvmOptions {
  /** The decimal chain id. The id that the node returns is compared with it before any other request. */
  readonly id: string
  /** The number of blocks that must follow a block before it counts; with 0, the latest block counts. */
  readonly confirmations: number
  /** The contract whose `contracts() returns (address[])` lists the contracts with an off-chain component. */
  readonly registry?: Address
  /** Whether one node answers every request, so that no answer lacks blocks that an earlier one had. */
  readonly isSingleNode?: boolean
  /** Called with a sentence when the answer of a contract cannot be read. */
  readonly reportProblem?: (problem: string) => void
}

export interface EvmChain extends Chain {
  createAccount(key: Uint8Array, limits?: SpendingLimits, getReachedNumber?: () => number | undefined): EvmAccount
}

/** Fetches the chain id of a node, as a decimal number. Rejects with a ChainError. */
export async function fetchChainId(rpc: JsonRpc): Promise<string> {
  return (await createEvmNode(rpc).fetchChainId()).toString()
}

/**
 * Makes the chain port on a JSON-RPC connection. Every request is preceded by a check that the node is of the chain
 * `options.id`.
 */
export function createEvmChain(rpc: JsonRpc, options: EvmOptions): EvmChain {
  const { id, confirmations, registry, isSingleNode = false, reportProblem } = options
  const connection = createConnection(rpc, id)
  const node = createEvmNode(connection.rpc, connection.checkChain)
  const fetchHeadNumber = async (): Promise<number> => Math.max(0, (await node.fetchBlockNumber()) - confirmations)
  return {
    id,
    addresses: 'evm',
    fetchHead: () => fetchHead(node, confirmations),
    hasBlock: async ({ number, hash }) => {
      if ((await node.fetchBlock(number))?.hash === hash) return true
      // A node of another chain may have replaced this one without breaking the connection.
      connection.forgetCheck()
      await connection.checkChain()
      return false
    },
    ...(registry === undefined ? {} : { listContracts: createRegistryReader(node, registry) }),
    fetchContract: (address, block) =>
      fetchContract(node, { address, block, reportProblem: reportProblem ?? (() => undefined) }),
    read: (address, input, { number }) => node.call({ to: address, input }, number).catch(refuseLargeAnswer),
    listChanged: createChangeFinder(node, isSingleNode),
    createAccount: (key, limits = {}, getReachedNumber) =>
      createEvmAccount(key, { node, chainId: BigInt(id), fetchHeadNumber, limits, getReachedNumber }),
  }
}

/** Throws a refusal of the contract for an answer that is too large, as the next one would be; else the error. */
function refuseLargeAnswer(error: Error): never {
  const { cause } = error
  const isTooLarge = cause instanceof AnswerTooLargeError || cause instanceof DataTooLargeError
  throw isTooLarge ? new ChainError(cause.message, { kind: 'refused', cause: error }) : error
}

async function fetchHead(node: EvmNode, confirmations: number): Promise<Head> {
  const newest = await node.fetchBlock('latest')
  const number = newest && Math.max(0, newest.number - confirmations)
  const block = number === undefined || number === newest?.number ? newest : await node.fetchBlock(number)
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
  readonly checkChain: () => Promise<void>
  /** Makes the next check ask the node for its chain again. */
  readonly forgetCheck: () => void
}

/**
 * Makes a connection whose `checkChain` asks the node for its chain id once, and again after the node could not be
 * reached: it may be of another chain then.
 */
function createConnection(rpc: JsonRpc, id: string): Connection {
  const chainCheck = cacheValue(async () => {
    const nodeChainId = await fetchChainId(rpc)
    if (nodeChainId !== id) {
      throw new ChainError(
        `the node is of chain ${nodeChainId}, and the configuration says ${id}: one of them is wrong`,
      )
    }
  })
  return {
    rpc: (method, params) =>
      rpc(method, params).catch((error: unknown) => {
        if (!(error instanceof JsonRpcError || error instanceof AnswerTooLargeError)) chainCheck.invalidate()
        throw error
      }),
    checkChain: chainCheck.get,
    forgetCheck: chainCheck.invalidate,
  }
}

function createRegistryReader(node: EvmNode, registry: Address): (block: Block) => Promise<readonly Address[]> {
  return async ({ number }) => {
    const answer = await node.call({ to: registry, input: selector.contracts }, number)
    return readOrElse(
      () => readContracts(answer),
      (cause) => {
        throw new ChainError(
          `the registry ${evmAddress(registry)} answers contracts() with what cannot be read: ${cause.message}`,
          { cause },
        )
      },
    )
  }
}

interface ContractReading {
  readonly address: Address
  readonly block: Block
  readonly reportProblem: (problem: string) => void
}

async function fetchContract(
  node: EvmNode,
  { address, block, reportProblem }: ContractReading,
): Promise<OffChainContract | undefined> {
  const ask = async <T>(name: 'engines' | 'component', read: (answer: Uint8Array) => T): Promise<T | undefined> => {
    const answer = await node.call({ to: address, input: selector[name] }, block.number).catch((error: unknown) => {
      if (error instanceof UnreadableAnswer)
        throw new UnreadableContract(`contract ${evmAddress(address)}: ${name}(): ${error.message}`, { cause: error })
      if (isRefused(error)) return undefined
      throw error
    })
    if (answer === undefined || answer.length === 0) return undefined
    return readOrElse(
      () => read(answer),
      (cause): never => {
        const problem = `contract ${evmAddress(address)}: what ${name}() answers cannot be read: ${cause.message}`
        throw new UnreadableContract(problem, { cause })
      },
    )
  }
  try {
    const engines = await ask('engines', readEngines)
    if (engines === undefined) return undefined
    return { address, engines, component: await ask('component', readComponentReference), state: new Uint8Array() }
  } catch (error) {
    if (!(error instanceof UnreadableContract)) throw error
    reportProblem(error.message)
    return undefined
  }
}

class UnreadableContract extends Error {}
