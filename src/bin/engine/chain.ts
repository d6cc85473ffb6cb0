/** The chain that a configuration names. */
import { join } from 'node:path'
import type { Chain } from '../../chain/chain.ts'
import { chainIdOf, evmChain } from '../../chain/evm/evm.ts'
import type { JsonRpc } from '../../chain/json-rpc.ts'
import { deployedContracts } from '../../chain/local/deployed.ts'
import { localJsonRpc } from '../../chain/local/local.ts'
import type { EngineConfig } from '../../engine/config.ts'
import { blockFiles } from '../chain/block-files.ts'
import { httpJsonRpc } from '../chain/json-rpc-http.ts'
import { now, outbound } from '../effects.ts'

type Named = Pick<EngineConfig, 'chain' | 'contractFilter'>

/** Ready to be asked. Rejects, in words for an operator that begin with the setting, when it cannot be found out which it is. */
export async function openChain({ chain, contractFilter }: Named, note: (problem: string) => void): Promise<Chain> {
  if (chain.type === 'partisia') throw new Error('chain.type: partisia is not yet supported; name a chain of type evm')
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

async function jsonRpc(chain: Exclude<EngineConfig['chain'], { type: 'partisia' }>): Promise<JsonRpc> {
  return chain.type === 'evm' ? httpJsonRpc(chain.rpcUrl, outbound) : localJsonRpc(blockFiles(chain.directory), now)
}

async function idOf(rpc: JsonRpc): Promise<string> {
  try {
    return await chainIdOf(rpc)
  } catch (error) {
    const why = (error as Error).message
    throw new Error(`chain.rpcUrl: ${why}; or write chain.chainId, and the engine starts without it`)
  }
}

/** Where components may be, besides the directory that is configured. */
export function chainComponents({ chain }: Pick<EngineConfig, 'chain'>): readonly string[] {
  return chain.type === 'local' ? [join(chain.directory, 'components')] : []
}
