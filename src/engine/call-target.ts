import type { EngineContext } from './context.ts'
import type { CallTarget, ContractEntry } from './contract-entry.ts'

/**
 * Returns the contract, component and block of a call that begins now; undefined when the contract cannot be called.
 */
export function findCallTarget({ watcher }: EngineContext, entry: ContractEntry): CallTarget | undefined {
  const block = watcher.getBlock()
  const { state, contract } = entry
  if (state.kind !== 'ready' || entry.isOurs !== true || block === undefined) return undefined
  return watcher.get(entry.address) === entry ? { entry, contract, component: state.component, block } : undefined
}
