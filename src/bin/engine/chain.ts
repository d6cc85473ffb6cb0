/** Opens the chain of an engine's configuration. */
import { join } from 'node:path'
import type { Chain } from '../../chain/chain.ts'
import { createEvmChain, fetchChainId } from '../../chain/evm/evm.ts'
import type { JsonRpc } from '../../chain/json-rpc.ts'
import { createContractLister } from '../../chain/local/deployed.ts'
import { createPartisiaChain } from '../../chain/partisia/partisia.ts'
import { createPartisiaReader } from '../../chain/partisia/reader.ts'
import type { EngineConfig } from '../../engine/config.ts'
import { findBuiltDirectory } from '../../toolchain/places.ts'
import { createJsonHttp } from '../chain/json-http.ts'
import { createHttpJsonRpc } from '../chain/json-rpc-http.ts'
import { openLocalChain } from '../chain/local-chain.ts'
import { outbound } from '../effects.ts'

type ChainSettings = Pick<EngineConfig, 'chain' | 'contractFilter' | 'components'>

/** The default gas of a transaction on Partisia, since a reader node cannot estimate it. */
const PARTISIA_GAS = 100_000n

const MAX_TOLD = 1000

/** Makes a function that calls `tell` once for each text. The texts are forgotten when there are very many. */
export function createOncePerText(tell: (text: string) => void): (text: string) => void {
  const texts = new Set<string>()
  return (text) => {
    if (texts.has(text)) return
    if (texts.size >= MAX_TOLD) texts.clear()
    texts.add(text)
    tell(text)
  }
}

/**
 * Opens the configured chain. Rejects with a message for the operator, which begins with the setting, if the chain
 * cannot be identified.
 */
export async function openChain(config: ChainSettings, reportProblem: (problem: string) => void): Promise<Chain> {
  const { chain, contractFilter } = config
  if (chain.type === 'partisia') return openPartisia(chain, config)
  const registry = contractFilter !== 'all' && 'registry' in contractFilter ? contractFilter.registry : undefined
  const rpc = await jsonRpc(chain).catch((error: unknown) => {
    throw new Error(`chain: ${(error as Error).message}`, { cause: error })
  })
  const confirmations = chain.type === 'evm' ? chain.confirmations : 0
  const id = (chain.type === 'evm' ? chain.chainId : undefined) ?? (await idOf(rpc, chain))
  const isSingleNode = chain.type === 'local'
  const options = { id, confirmations, isSingleNode, reportProblem, ...(registry === undefined ? {} : { registry }) }
  const evm = createEvmChain(rpc, options)
  const listsAll = isSingleNode && registry === undefined
  return listsAll ? { ...evm, listContracts: createContractLister(rpc) } : evm
}

type PartisiaConfig = Extract<EngineConfig['chain'], { type: 'partisia' }>

/**
 * Opens Partisia Blockchain. A reader node cannot list contracts, so these are the ones with a configured component.
 */
async function openPartisia(
  { readerUrl, chainId }: PartisiaConfig,
  { components }: Pick<EngineConfig, 'components'>,
): Promise<Chain> {
  const http = createJsonHttp(readerUrl, outbound)
  const answer = chainId === undefined ? createPartisiaReader(http).fetchChain() : undefined
  const node = await answer?.catch((error: unknown) => rejectUnknownChain('chain.readerUrl', error))
  const id =
    chainId ??
    node?.id ??
    rejectUnknownChain('chain.readerUrl', new Error('this is not a reader node: it has no /chain'))
  const partisia = createPartisiaChain(http, { id, defaultGas: PARTISIA_GAS })
  return { ...partisia, listContracts: () => Promise.resolve([...components.keys()]) }
}

function rejectUnknownChain(setting: string, error: unknown): never {
  throw new Error(
    `${setting}: ${(error as Error).message}; or write chain.chainId, and the engine starts without asking`,
    { cause: error },
  )
}

async function jsonRpc(chain: Exclude<EngineConfig['chain'], PartisiaConfig>): Promise<JsonRpc> {
  if (chain.type === 'evm') return createHttpJsonRpc(chain.rpcUrl, outbound)
  return openLocalChain(chain.directory, join(findBuiltDirectory(), 'local-chain-worker.cjs'))
}

async function idOf(rpc: JsonRpc, { type }: EngineConfig['chain']): Promise<string> {
  try {
    return await fetchChainId(rpc)
  } catch (error) {
    if (type !== 'local') return rejectUnknownChain('chain.rpcUrl', error)
    throw new Error(`chain.directory: ${(error as Error).message}`, { cause: error })
  }
}

/** Returns further directories of components, besides the configured one. */
export function chainComponents({ chain }: Pick<EngineConfig, 'chain'>): readonly string[] {
  return chain.type === 'local' ? [join(chain.directory, 'components')] : []
}
