/**
 * Reconciles contracts after a reorganisation of the chain removed a block at which the engine committed a call: the
 * stored values of such a contract may belong to the removed fork. Until the state change hook of the contract has run
 * on the current fork, no other call of the contract runs. The log reports the begin and the end.
 */
import type { Logger } from 'pino'
import { type Block, type Chain, ChainError } from '../chain/chain.ts'
import { hook as hookNames } from '../offchain/hosted.ts'
import { type ContractEntry, type ForkState, requestHookRun } from './contract-entry.ts'
import type { ContractRow } from './contract-rows.ts'
import { type BlockState, fetchBlockState } from './head-move.ts'
import type { Outbox } from './outbox.ts'

export interface ReconcileContext {
  readonly chain: Pick<Chain, 'hasBlock'>
  readonly outbox: Pick<Outbox, 'invalidateNonces'>
  readonly log: Logger
}

const LOST_BLOCK_TEXT =
  'the chain took back a block that this engine had acted on; a contract with a state change hook is served again when that has run'

/**
 * Marks every contract as unchecked, so that its block is looked up before its next call. Called when a poll sees a
 * reorganisation, and again at its end, since calls run at the block of the last poll until then.
 */
export function uncheckForks(entries: Iterable<ContractEntry>): void {
  for (const { fork } of entries) {
    fork.number++
    fork.standing = 'unchecked'
  }
}

/**
 * Marks a contract as unchecked when a poll that ended during a commit saw a reorganisation; `number` is that of the
 * fork at which the call ran. Another call may have checked the row before.
 */
export function uncheckMovedFork({ fork }: ContractEntry, number: number): void {
  if (fork.number !== number && fork.standing === 'settled') fork.standing = 'unchecked'
}

/**
 * Looks up the block of the contract's last commit while the contract is `unchecked`, and begins the reconciliation
 * when the chain lacks the block; `head` is the block at which the engine reads the chain. Returns the standing that
 * the contract then has, which is still `unchecked` while the chain cannot be asked.
 */
export async function checkFork(
  context: ReconcileContext,
  entry: ContractEntry,
  { block }: ContractRow,
  head: Block,
): Promise<ForkState['standing']> {
  if (entry.fork.standing === 'unchecked') {
    const { number } = entry.fork
    const state = block === undefined ? 'there' : await fetchBlockStateOrUndefined(context, block, head)
    // Meanwhile another call may have checked the contract, or there may have been another reorganisation.
    if (state !== undefined && isUnchecked(entry, number)) {
      if (state === 'gone') beginReconciling(context, entry, block)
      else entry.fork.standing = 'settled'
    }
  }
  return entry.fork.standing
}

function isUnchecked({ fork }: ContractEntry, number: number): boolean {
  return fork.number === number && fork.standing === 'unchecked'
}

/** Fetches the state of a block like {@link fetchBlockState}; returns undefined when the chain cannot be asked. */
async function fetchBlockStateOrUndefined(
  { chain }: ReconcileContext,
  block: NonNullable<ContractRow['block']>,
  head: Block,
): Promise<BlockState | undefined> {
  try {
    return await fetchBlockState(chain, block, head)
  } catch (error) {
    if (error instanceof ChainError) return undefined
    throw error
  }
}

function beginReconciling({ log, outbox }: ReconcileContext, entry: ContractEntry, block: ContractRow['block']): void {
  const { fork, state, address } = entry
  // A component that is being prepared may have the hook; when it is ready, state-change.ts sees whether it has.
  const hasHook = state.kind !== 'ready' || state.hooks.includes(hookNames.stateChange)
  fork.standing = hasHook ? 'reconciling' : 'settled'
  outbox.invalidateNonces()
  if (hasHook) requestHookRun(entry)
  log.warn({ event: 'acted_on_lost_block', contract: address, block: block?.number, hasHook }, LOST_BLOCK_TEXT)
}

/**
 * Ends the reconciliation of a contract after its state change hook was committed, or because its component has none.
 * The next call looks up the block of the last commit, because the engine may have run the hook at the removed block
 * before it could read the new one.
 */
export function endReconciling({ log }: ReconcileContext, { fork, address }: ContractEntry): void {
  if (fork.standing !== 'reconciling') return
  fork.standing = 'unchecked'
  log.info({ event: 'reconciled', contract: address }, 'the contract is served again on the current fork')
}
