/** A contract as an engine knows it, and how it stands with its component. */
import type { Block, OffChainContract } from '../chain/chain.ts'
import type { Component } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { Lane } from './lane.ts'

export type ComponentState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready'; readonly component: Component; readonly hooks: readonly string[] }
  /** `why` is for the operator. */
  | { readonly kind: 'failed'; readonly why: string }

/** The state change hook of a contract: level-triggered, so that many changes are one run. */
export interface HookState {
  pending: boolean
  running: boolean
  attempts: number
  /** Given up, until the contract changes again. */
  dead: boolean
  /** Milliseconds since the epoch: not before. */
  notBefore: number
}

/** Changed by the watcher alone; of what changes together, all at once. */
export interface Entry {
  readonly address: Address
  contract: OffChainContract
  /** Whether the contract lists this engine; undefined as long as its component has not said. */
  isOurs: boolean | undefined
  /** What the contract said when its component was asked for its engines. */
  askedOf?: OffChainContract
  state: ComponentState
  readonly hook: HookState
  readonly lane: Lane
  /** To look for the component again. */
  retry: { readonly at: number; readonly attempts: number }
}

/** A contract and its component at one block. */
export interface CallTarget {
  readonly entry: Entry
  readonly contract: OffChainContract
  readonly component: Component
  readonly block: Block
}

export type EntryKind = 'served' | 'starting' | 'failed' | 'not-this-engine'

export function kindOf({ isOurs, state }: Entry): EntryKind {
  if (isOurs === false) return 'not-this-engine'
  if (state.kind === 'ready') return isOurs === true ? 'served' : 'starting'
  return state.kind
}

/** A call that fails so often is given up: a hook until its contract changes again, a timer for good. */
export const MOST_ATTEMPTS = 8

/** What is full now is tried again then, however often it was. */
export function whileFull(now: Date): Date {
  return new Date(now.getTime() + FULL_MS)
}

const FULL_MS = 10_000
const BACK_OFF_MS = 1000
const LONGEST_BACK_OFF_MS = 300_000

/** After so many attempts that failed. */
export function backOff(attempts: number): number {
  return Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.max(0, attempts - 1))
}
