/**
 * Reconciles contracts with a chain that took back a block which the engine had acted on: values stored for them may
 * belong to a fork that is gone. The log says so, and nothing else of a contract runs until its state change hook has
 * run on the chain that stays.
 */
import type { Logger } from 'pino'
import { type Chain, ChainError } from '../chain/chain.ts'
import type { ContractEntry } from './contract-entry.ts'
import type { ContractRow } from './contract-rows.ts'
import type { Outbox } from './outbox.ts'

export interface ReconcileContext {
  readonly chain: Pick<Chain, 'has'>
  readonly outbox: Pick<Outbox, 'doubtNonces'>
  readonly log: Logger
}

const LOST =
  'the chain took back a block that this engine had acted on; a contract with a state change hook is served again when that has run'

/** Marks each contract as unchecked after the chain took back a block, so that it is checked before its next call. */
export function uncheckForks(entries: Iterable<ContractEntry>): void {
  for (const { fork } of entries) {
    fork.number++
    fork.standing = 'unchecked'
  }
}

/**
 * Tests whether the contract may be called, by the block of its last commit. False while the chain cannot be asked for
 * the block.
 */
export async function isReconciled(
  context: ReconcileContext,
  entry: ContractEntry,
  { block }: ContractRow,
): Promise<boolean> {
  if (entry.fork.standing === 'unchecked') {
    const { number } = entry.fork
    const isThere = block === undefined || (await hasBlock(context, block))
    if (isThere === undefined) return false
    // Another call may have been quicker, or the chain may have changed again.
    if (isUnchecked(entry, number)) {
      if (isThere) entry.fork.standing = 'settled'
      else beginReconciling(context, entry, block)
    }
  }
  return isSettled(entry)
}

function isUnchecked({ fork }: ContractEntry, number: number): boolean {
  return fork.number === number && fork.standing === 'unchecked'
}

function isSettled({ fork }: ContractEntry): boolean {
  return fork.standing === 'settled'
}

/** Tests whether the chain has the block; returns undefined when the chain cannot be asked. */
async function hasBlock(
  { chain }: ReconcileContext,
  block: NonNullable<ContractRow['block']>,
): Promise<boolean | undefined> {
  try {
    return await chain.has(block)
  } catch (error) {
    if (error instanceof ChainError) return undefined
    throw error
  }
}

function beginReconciling({ log, outbox }: ReconcileContext, entry: ContractEntry, block: ContractRow['block']): void {
  const { fork, hook, state, address } = entry
  const hasHook = state.kind === 'ready' && state.hooks.includes('off_chain_on_state_change')
  fork.standing = hasHook ? 'reconciling' : 'settled'
  outbox.doubtNonces()
  if (hasHook) Object.assign(hook, { pending: true, attempts: 0, dead: false, notBefore: 0, problem: undefined })
  log.warn({ event: 'acted_on_lost_block', contract: address, block: block?.number, hasHook }, LOST)
}

/**
 * Ends the reconciling of a contract whose hook has run to its end. The next call asks the chain for the block that the
 * hook ran at, which may be the lost block where the engine could not read the new one yet.
 */
export function endReconciling({ log }: ReconcileContext, { fork, address }: ContractEntry): void {
  if (fork.standing !== 'reconciling') return
  fork.standing = 'unchecked'
  log.info({ event: 'reconciled', contract: address }, 'the hook has run on the chain that stayed')
}
