/**
 * Prepares the component of a contract: finds it, reads its hooks, and asks it for the engines that the contract does
 * not list.
 */
import { ComponentError } from '../component/runtime.ts'
import { addressOf } from '../offchain/address.ts'
import { reader } from '../offchain/rpc.ts'
import { findComponent, SourceError } from './component-source.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import { perform } from './perform.ts'
import { callBackOff } from './retry.ts'

export function mustPrepare(entry: ContractEntry, at: number): boolean {
  const { state, retry, isOurs, contract } = entry
  if (isOurs === false && contract.engines !== undefined) return false
  if (state.kind === 'ready') return contract.engines === undefined && entry.askedOf !== contract && retry.at <= at
  return retry.at <= at
}

/** Prepares the component of a contract, and leaves in the entry what came of it, and when to try again. */
export async function prepare(context: EngineContext, entry: ContractEntry): Promise<void> {
  const { contract } = entry
  const isCurrent = (): boolean => entry.contract.component?.sha256 === contract.component?.sha256
  try {
    if (entry.state.kind !== 'ready') {
      const state = await load(context, contract.component)
      if (!isCurrent()) return
      entry.state = state
      context.log.info(
        { event: 'component_ready', contract: entry.address, hooks: state.hooks },
        'the component can be called',
      )
    }
    if (contract.engines === undefined) await askEngines(context, entry)
    entry.retry = { at: 0, attempts: 0 }
  } catch (error) {
    if (!(error instanceof SourceError) && !(error instanceof ComponentError)) throw error
    if (isCurrent()) fail(context, entry, error.message)
  }
}

async function load(context: EngineContext, reference: { readonly sha256: string; readonly uri: string } | undefined) {
  if (reference === undefined) {
    throw new SourceError('its contract names no component; name one in `components` of the configuration')
  }
  const component = await findComponent(context, reference)
  const { hooks } = await context.runtime.describe(component)
  return { kind: 'ready', component, hooks } as const
}

function fail({ log, now }: EngineContext, entry: ContractEntry, why: string): void {
  const attempts = entry.retry.attempts + 1
  const isNews = entry.state.kind !== 'failed' || entry.state.why !== why
  entry.state = { kind: 'failed', why }
  entry.retry = { at: now().getTime() + callBackOff(attempts), attempts }
  if (isNews) log.error({ event: 'component_unavailable', contract: entry.address, why }, 'its component cannot be run')
}

/**
 * Asks the component for the engines, which it reads from the contract's state; without that hook the operator
 * decides.
 */
async function askEngines(context: EngineContext, entry: ContractEntry): Promise<void> {
  const { contract, state } = entry
  const block = context.watcher.block()
  if (state.kind !== 'ready' || block === undefined) return
  if (!state.hooks.includes('off_chain_engines')) {
    entry.isOurs = true
  } else {
    const target = { entry, contract, component: state.component, block }
    const performed = await perform(context, entry, () => target, { hook: { kind: 'engines' }, mode: 'shared' })
    if (performed.kind !== 'done') throw new SourceError('its component cannot say who its engines are')
    entry.isOurs = readEngines(performed.result).includes(context.engine)
  }
  entry.askedOf = contract
}

function readEngines(result: Uint8Array): readonly string[] {
  const from = reader(result)
  return from.list((each) => {
    const address = addressOf(each.raw(21))
    each.text()
    return address
  })
}
