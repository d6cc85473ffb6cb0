/**
 * Prepares the component of a contract: finds its bytes, checks them and lists its hooks, and asks the component for
 * the engines of the contract when the contract itself does not list them.
 */
import { readOrProblem } from '../codec/malformed.ts'
import { ComponentError } from '../component/runtime.ts'
import { addressOf } from '../offchain/address.ts'
import { hook as hookNames } from '../offchain/hosted.ts'
import { reader } from '../offchain/rpc.ts'
import { SourceError } from './component-source.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import { countsAsAttempt, performCall } from './perform.ts'
import { callBackOffMs, FULL_SECONDS, uncountedPauseMs } from './retry.ts'
import { firstHooks } from './status.ts'

/**
 * Tests whether the component of a contract has to be prepared now: it is not ready, or it has to list the engines
 * because the contract has changed. Returns false before the next attempt is due, and when the contract lists other
 * engines only. `time` is in milliseconds of the clock of `entry.retry`.
 */
export function needsPreparation(entry: ContractEntry, time: number): boolean {
  const { state, retry, listsThisEngine, contract } = entry
  if (listsThisEngine === false && contract.engines !== undefined) return false
  if (state.kind === 'ready')
    return contract.engines === undefined && entry.contractOfEngineList !== contract && retry.at <= time
  return retry.at <= time
}

/**
 * Prepares the component of a contract, and sets the state and the time of the next attempt in the entry. A component
 * that cannot be used gets the state `failed`; the operator's log has the reason.
 */
export async function prepareComponent(context: EngineContext, entry: ContractEntry): Promise<void> {
  const { contract } = entry
  const isCurrent = (): boolean => entry.contract.component?.sha256 === contract.component?.sha256
  try {
    if (entry.state.kind !== 'ready') {
      const state = await loadComponent(context, contract.component)
      if (!isCurrent()) return
      entry.state = state
      context.log.info(
        { event: 'component_ready', contract: entry.address, hooks: firstHooks(state), hookCount: state.hooks.length },
        'the component can be called',
      )
    }
    const askAgainAt = contract.engines === undefined ? await askEngines(context, entry) : undefined
    entry.retry = { at: askAgainAt ?? 0, attempts: 0 }
  } catch (error) {
    if (!(error instanceof SourceError) && !(error instanceof ComponentError)) {
      entry.retry = { ...entry.retry, at: context.monotonicMs() + uncountedPauseMs(1) }
      throw error
    }
    if (isCurrent()) recordFailure(context, entry, error.message)
  }
}

async function loadComponent(
  context: EngineContext,
  reference: { readonly sha256: string; readonly uri: string } | undefined,
) {
  if (reference === undefined) {
    throw new SourceError('the contract names no component; name one in `components` of the configuration')
  }
  const component = await context.findComponent(reference)
  const { hooks } = await context.runtime.describe(component)
  return { kind: 'ready', component, hooks } as const
}

function recordFailure({ log, monotonicMs }: EngineContext, entry: ContractEntry, why: string): void {
  const attempts = entry.retry.attempts + 1
  const isNewReason = entry.state.kind !== 'failed' || entry.state.why !== why
  entry.state = { kind: 'failed', why }
  entry.retry = { at: monotonicMs() + callBackOffMs(attempts), attempts }
  if (!isNewReason) return
  const line = { event: 'component_unavailable', contract: entry.address, why }
  log.error(line, 'the component of the contract cannot be run')
}

/**
 * Asks the component for the engines of the contract, and sets whether this engine is among them. A contract whose
 * component lacks that hook is served, because the operator's filter admits it. Returns the time at which to ask again
 * when the contract was overloaded, or the chain did not answer; else undefined. Throws a SourceError when the
 * component fails.
 */
async function askEngines(context: EngineContext, entry: ContractEntry): Promise<number | undefined> {
  const { contract, state } = entry
  const block = context.watcher.getHead()
  if (state.kind !== 'ready' || block === undefined) return undefined
  if (!state.hooks.includes(hookNames.engines)) {
    entry.listsThisEngine = true
  } else {
    const target = { entry, contract, component: state.component, block }
    const result = await performCall(context, entry, () => target, { hook: { kind: 'engines' }, mode: 'shared' })
    if (result.kind === 'overloaded') return context.monotonicMs() + FULL_SECONDS * 1000
    if (!countsAsAttempt(result)) return context.monotonicMs() + uncountedPauseMs(1)
    if (result.kind !== 'done') throw new SourceError('its component cannot say who its engines are')
    const engines = readOrProblem(() => readEngines(result.result))
    if ('problem' in engines)
      throw new SourceError(`the list of engines that its component returns cannot be read: ${engines.problem}`)
    entry.listsThisEngine = engines.includes(context.engine)
  }
  entry.contractOfEngineList = contract
  return undefined
}

function readEngines(result: Uint8Array): readonly string[] {
  const engines = reader(result)
  return engines.list((each) => {
    const address = addressOf(each.raw(21))
    each.text()
    return address
  })
}
