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

/** The state of a contract's state change hook, which runs once for all changes since its last run. */
export interface HookState {
  pending: boolean
  running: boolean
  attempts: number
  /** Whether the hook was given up, until the contract changes again. */
  dead: boolean
  /** The earliest time of the next run, in milliseconds since 1970. */
  notBefore: number
  /** The problem of the last run; undefined after a run that was committed. */
  problem: ProblemCode | undefined
}

/** The state of a contract relative to the fork of the chain that the engine sees. */
export interface ForkState {
  /** A number that goes up whenever the chain takes back a block. */
  number: number
  /**
   * `unchecked`: the chain may have taken back the block of the last commit. `reconciling`: the chain has, and the
   * state change hook runs before any other call. `settled`: the chain has the block.
   */
  standing: 'unchecked' | 'reconciling' | 'settled'
}

/**
 * A contract in the memory of an engine. `state` and `retry` are changed by prepare.ts, `hook` by state-change.ts,
 * `fork` by reconcile.ts, and the other members by watcher.ts; members that belong together change between two awaits.
 */
export interface ContractEntry {
  readonly address: Address
  contract: OffChainContract
  /** Whether the contract lists this engine; undefined until its component has answered that. */
  listsThisEngine: boolean | undefined
  /** The contract as it was when its component last listed the engines; undefined before. */
  contractOfEngineList?: OffChainContract
  state: ComponentState
  readonly hook: HookState
  readonly fork: ForkState
  readonly queue: CallQueue
  /** The next attempt to look for the component. */
  retry: { readonly at: number; readonly attempts: number }
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
    readonly getBlock: () => Block | undefined
    readonly get: (address: Address) => ContractEntry | undefined
  }
}

/**
 * Returns the contract, component and block of a call that begins now; undefined when the contract cannot be called.
 */
export function findCallTarget({ watcher }: WatchingContext, entry: ContractEntry): CallTarget | undefined {
  const block = watcher.getBlock()
  const { state, contract } = entry
  if (state.kind !== 'ready' || entry.listsThisEngine !== true || block === undefined) return undefined
  return watcher.get(entry.address) === entry ? { entry, contract, component: state.component, block } : undefined
}

export const CONTRACT_STATES = ['served', 'starting', 'reconciling', 'failed', 'not-this-engine'] as const
export type ContractState = (typeof CONTRACT_STATES)[number]

export function contractStateOf({ listsThisEngine, state, fork }: ContractEntry): ContractState {
  if (listsThisEngine === false) return 'not-this-engine'
  if (state.kind !== 'ready') return state.kind
  if (listsThisEngine === undefined) return 'starting'
  return fork.standing === 'reconciling' ? 'reconciling' : 'served'
}
