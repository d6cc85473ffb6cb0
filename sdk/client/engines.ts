/**
 * The engines of a contract, as its state lists them: read from the chain, and kept for a while. Whoever learns from
 * an engine that the list is old says so by `invalidate`.
 */
import type { Block, Chain, ListedEngine, OffChainContract } from '../../src/chain/chain.ts'
import type { Address } from '../../src/offchain/address.ts'
import { ClientError } from './errors.ts'

/** The part of a chain that a client reads. */
export type ChainReader = Pick<Chain, 'id' | 'addresses' | 'fetchHead' | 'fetchContract' | 'read'>

export interface EngineListOptions {
  readonly chain: ChainReader
  readonly contract: Address
  readonly now: () => Date
  /** The time for which a list is cached. */
  readonly ttlMs: number
  /** The function that finds the engines in the state of a contract whose state is not a documented interface. */
  readonly extract?:
    | ((contract: OffChainContract, chain: ChainReader, block: Block) => Promise<readonly ListedEngine[]>)
    | undefined
}

export interface EngineList {
  readonly engines: readonly ListedEngine[]
  /** When the contract said so. */
  readonly block: Block
}

export interface EngineListCache {
  /**
   * Rejects with a ChainError when the chain cannot be asked, and with a {@link ClientError} when the contract lists
   * no engines.
   */
  get(): Promise<EngineList>
  invalidate(): void
}

/** Makes the cache of the list of a contract. */
export function cacheEngineList({ chain, contract, now, ttlMs, extract }: EngineListOptions): EngineListCache {
  let cachedList: { readonly until: number; readonly list: Promise<EngineList> } | undefined
  const read = async (): Promise<EngineList> => {
    const block = await chain.fetchHead()
    const contractOnChain = await chain.fetchContract(contract, block)
    if (contractOnChain === undefined) refuse('there is no contract with an off-chain component at this address')
    const engines = extract === undefined ? contractOnChain.engines : await extract(contractOnChain, chain, block)
    if (engines === undefined)
      refuse('its state does not say in a documented way what its engines are: give an extractor')
    return { engines, block }
  }
  return {
    get: () => {
      if (cachedList !== undefined && now().getTime() < cachedList.until) return cachedList.list
      const list = read()
      const mine = { until: now().getTime() + ttlMs, list }
      cachedList = mine
      // A failure is not cached.
      list.catch(() => {
        if (cachedList === mine) cachedList = undefined
      })
      return list
    },
    invalidate: () => {
      cachedList = undefined
    },
  }
}

function refuse(message: string): never {
  throw new ClientError('unknown-contract', message)
}
