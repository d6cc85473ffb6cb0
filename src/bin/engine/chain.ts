/** The chain that a configuration names. */
import { join } from 'node:path'
import type { Chain } from '../../chain/chain.ts'
import { chainIdOf, evmChain } from '../../chain/evm/evm.ts'
import type { JsonRpc } from '../../chain/json-rpc.ts'
import { deployedContracts } from '../../chain/local/deployed.ts'
import { partisiaChain } from '../../chain/partisia/partisia.ts'
import { partisiaReader } from '../../chain/partisia/reader.ts'
import type { EngineConfig } from '../../engine/config.ts'
import { builtDirectory } from '../../toolchain/places.ts'
import { jsonHttp } from '../chain/json-http.ts'
import { httpJsonRpc } from '../chain/json-rpc-http.ts'
import { openLocalChain } from '../chain/local-chain.ts'
import { outbound } from '../effects.ts'

type Named = Pick<EngineConfig, 'chain' | 'contractFilter' | 'components'>

/** On Partisia, of a transaction whose component does not say how much it may use: a reader node has no question for it. */
const PARTISIA_GAS = 100_000n

const MOST_TOLD = 1000

/** Tells each text once, and not each time that a contract is read: until there were very many. */
export function onceEach(tell: (text: string) => void): (text: string) => void {
  const told = new Set<string>()
  return (text) => {
    if (told.has(text)) return
    if (told.size >= MOST_TOLD) told.clear()
    told.add(text)
    tell(text)
  }
}

/** Ready to be asked. Rejects, in words for an operator that begin with the setting, when it cannot be found out which it is. */
export async function openChain(named: Named, note: (problem: string) => void): Promise<Chain> {
  const { chain, contractFilter } = named
  if (chain.type === 'partisia') return openPartisia(chain, named)
  const registry = contractFilter !== 'all' && 'registry' in contractFilter ? contractFilter.registry : undefined
  const rpc = await jsonRpc(chain).catch((error: unknown) => {
    throw new Error(`chain: ${(error as Error).message}`)
  })
  const confirmations = chain.type === 'evm' ? chain.confirmations : 0
  const id = (chain.type === 'evm' ? chain.chainId : undefined) ?? (await idOf(rpc))
  const opened = evmChain(rpc, { id, confirmations, note, ...(registry === undefined ? {} : { registry }) })
  const listsAll = chain.type === 'local' && registry === undefined
  return listsAll ? { ...opened, contracts: deployedContracts(rpc) } : opened
}

type PartisiaConfig = Extract<EngineConfig['chain'], { type: 'partisia' }>

/** A reader node cannot list contracts: all of them are those that the operator names a component of. */
async function openPartisia(
  { readerUrl, chainId }: PartisiaConfig,
  { components }: Pick<EngineConfig, 'components'>,
): Promise<Chain> {
  const http = jsonHttp(readerUrl, outbound)
  const asked = chainId === undefined ? partisiaReader(http).chain() : undefined
  const said = await asked?.catch((error: unknown) => cannotSay('chain.readerUrl', error))
  const id = chainId ?? said?.id ?? cannotSay('chain.readerUrl', new Error('this is no reader node: it has no /chain'))
  const opened = partisiaChain(http, { id, defaultGas: PARTISIA_GAS })
  return { ...opened, contracts: () => Promise.resolve([...components.keys()]) }
}

function cannotSay(setting: string, error: unknown): never {
  throw new Error(`${setting}: ${(error as Error).message}; or write chain.chainId, and the engine starts without it`)
}

async function jsonRpc(chain: Exclude<EngineConfig['chain'], PartisiaConfig>): Promise<JsonRpc> {
  if (chain.type === 'evm') return httpJsonRpc(chain.rpcUrl, outbound)
  return openLocalChain(chain.directory, join(builtDirectory(), 'local-chain-worker.cjs'))
}

async function idOf(rpc: JsonRpc): Promise<string> {
  try {
    return await chainIdOf(rpc)
  } catch (error) {
    return cannotSay('chain.rpcUrl', error)
  }
}

/** Where components may be, besides the directory that is configured. */
export function chainComponents({ chain }: Pick<EngineConfig, 'chain'>): readonly string[] {
  return chain.type === 'local' ? [join(chain.directory, 'components')] : []
}
