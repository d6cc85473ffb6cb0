/** A contract in the memory of an engine, with the state of its component. */
import type { Block, OffChainContract } from '../chain/chain.ts'
import type { ComponentCode } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { CallQueue } from './call-queue.ts'
import type { ProblemCode } from './problem.ts'

export type ComponentState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready'; readonly component: ComponentCode; readonly hooks: readonly string[] }
  /** `why` is for the operator. */
  | { readonly kind: 'failed'; readonly why: string }

/** The state of a contract's state change hook. One run is for all changes since the last run. */
export interface HookState {
  /** Whether the hook has to run, because the contract changed or the last run failed. */
  pending: boolean
  running: boolean
  attempts: number
  /** The number of attempts since the last counted one that failed for a reason other than the component. */
  uncounted: number
  /** Whether the hook was given up after too many failures, until the contract changes again. */
  dead: boolean
  /** The earliest time of the next run, in monotonic milliseconds. */
  notBefore: number
  /** The problem code of the last run; undefined after a run that was committed, and once the contract changes. */
  problem: ProblemCode | undefined
}

/** Tells whether the last commit of a contract belongs to the current fork of the chain. */
export interface ForkState {
  /** A number that increases when a poll sees a reorganisation of the chain, and again when that poll ends. */
  number: number
  /**
   * `unchecked`: the chain may lack the block of the last commit, as after a reorganisation or a start. `reconciling`:
   * the chain lacks the block, and the state change hook must run before any other call. `settled`: the chain has the
   * block.
   */
  standing: 'unchecked' | 'reconciling' | 'settled'
}

/**
 * A contract in the memory of an engine. served-contracts.ts makes it, and sets its members anew when the contract
 * changes; prepare.ts sets `state`, `retry` and the members about engines; reconcile.ts sets `fork`; state-change.ts
 * sets `stateChange`, of which {@link requestHookRun} requests a run. Members that belong together are set without an
 * `await` in between.
 */
export interface ContractEntry {
  readonly address: Address
  contract: OffChainContract
  /** Whether the contract lists this engine; undefined when only its component can tell, and has not been asked yet. */
  listsThisEngine: boolean | undefined
  /** The version of the contract for which its component last listed the engines; undefined before. */
  contractOfEngineList?: OffChainContract
  state: ComponentState
  readonly stateChange: HookState
  readonly fork: ForkState
  readonly queue: CallQueue
  /**
   * The earliest time of the next attempt to prepare the component, in monotonic milliseconds, and the number of
   * failures.
   */
  retry: { readonly at: number; readonly attempts: number }
}

/** Makes the state of a hook that has to run, as its first attempt. */
export const createHookState = (): HookState => ({
  pending: true,
  running: false,
  attempts: 0,
  uncounted: 0,
  dead: false,
  notBefore: 0,
  problem: undefined,
})

/** Requests a run of the state change hook, as the first attempt, even when the hook was given up before. */
export function requestHookRun({ stateChange }: ContractEntry): void {
  Object.assign(stateChange, { ...createHookState(), running: stateChange.running })
}

/** A contract and its component at one block. */
export interface CallTarget {
  readonly entry: ContractEntry
  readonly contract: OffChainContract
  readonly component: ComponentCode
  readonly block: Block
}

interface WatchingContext {
  readonly watcher: {
    readonly getHead: () => Block | undefined
    readonly findEntry: (address: Address) => ContractEntry | undefined
  }
}

/**
 * Returns the contract, component and block of a call that begins now. Returns undefined when the component is not
 * ready, or the contract does not list this engine or is not served any more.
 */
export function findCallTarget({ watcher }: WatchingContext, entry: ContractEntry): CallTarget | undefined {
  const block = watcher.getHead()
  const { state, contract } = entry
  if (state.kind !== 'ready' || entry.listsThisEngine !== true || block === undefined) return undefined
  return watcher.findEntry(entry.address) === entry ? { entry, contract, component: state.component, block } : undefined
}

export const CONTRACT_STATES = ['served', 'starting', 'reconciling', 'failed', 'not-this-engine'] as const
export type ContractState = (typeof CONTRACT_STATES)[number]

/** Returns the state of a contract for clients and for the operator. */
export function contractStateOf({ listsThisEngine, state, fork }: ContractEntry): ContractState {
  if (listsThisEngine === false) return 'not-this-engine'
  if (state.kind !== 'ready') return state.kind
  if (listsThisEngine === undefined) return 'starting'
  return fork.standing === 'reconciling' ? 'reconciling' : 'served'
}
