/**
 * Performs one call of a component: waits in the queue, runs the call, and commits its effects. The effects are
 * committed as a whole, on condition that the contract has not changed while the call ran. Otherwise the call runs
 * again on the new state.
 */
import type { Block } from '../chain/chain.ts'
import type { CallEffects, Hook, RunOutcome } from '../component/runtime.ts'
import type { CallRecord } from './call-history.ts'
import type { CallMode, QueueRefusal } from './call-queue.ts'
import { type CallToCommit, commitCall, isWriting, type Quota, type StorageReads } from './commit.ts'
import { isChainOutage, runHookOnce } from './component-run.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget, ContractEntry } from './contract-entry.ts'
import { checkFork, uncheckMovedFork } from './reconcile.ts'
import { toWire, type WireResponse } from './response.ts'
import { retryTimeWhenFull } from './retry.ts'
import type { EndedTimer } from './timer-book.ts'

export interface CallRequest {
  readonly hook: Hook
  readonly mode: CallMode
  /** The id of the HTTP request, for the log and the history. */
  readonly requestId?: string
  /** The timer that the call runs, with its row after success. */
  readonly endedTimer?: EndedTimer
  /** Tests whether the client has disconnected, so that the call need not run. */
  readonly isAbandoned?: () => boolean
}

/** The result of a call. Only the effects of a call that is `done` are stored. */
export type CallResult =
  | {
      readonly kind: 'done'
      /** The response of the HTTP hook; undefined for every other hook. */
      readonly response: WireResponse | undefined
      readonly result: Uint8Array
      readonly effects: CallEffects
      readonly block: Block
    }
  | ({ readonly kind: 'quota'; readonly log: readonly string[] } & Quota)
  /** Too many calls of the contract run or wait, or no worker was free. */
  | { readonly kind: 'overloaded'; readonly until: Date }
  /**
   * `unavailable`: the contract could not be called when the call's turn came, or the engine is stopping.
   * `reconciling`: a reorganisation removed the block of the contract's last commit, and its state change hook must run
   * first. `stale-chain`: the chain cannot be asked whether it still has that block, or what the component asks it.
   */
  | { readonly kind: 'deadline' | 'unavailable' | 'reconciling' | 'stale-chain' }
  /** The client disconnected before the call's turn, and nobody waits for an answer. */
  | { readonly kind: 'abandoned' }
  /** `why` and `log` are for the operator. */
  | { readonly kind: 'trap' | 'bad-response'; readonly why: string; readonly log: readonly string[] }

/** The result of a call that was not committed, which its client is told of. */
export type FailedCall = Exclude<CallResult, { kind: 'done' | 'abandoned' }>

const MAX_RUNS = 10
/** The hooks that may run while a contract is not reconciled with the chain. */
const HOOKS_WHILE_RECONCILING: ReadonlySet<Hook['kind']> = new Set(['state-change', 'engines'])

/**
 * Performs a call, and adds it to the history of the contract, unless it is a background call that did not count. Calls
 * `findTarget` when the turn of the call comes, since the contract may change while the call waits. Rejects when the
 * database fails.
 */
export async function performCall(
  context: EngineContext,
  entry: ContractEntry,
  findTarget: () => CallTarget | undefined,
  request: CallRequest,
): Promise<CallResult> {
  const began = context.now()
  const result = await performInTurn(context, entry, findTarget, request)
  const { hook, requestId } = request
  // A timer or hook that did not count is tried again soon; the attempts would fill the history.
  if (!isForClient(request) && !countsAsAttempt(result)) return result
  const milliseconds = context.now().getTime() - began.getTime()
  context.calls.add(entry.address, { hook, began, milliseconds, request: requestId, ...describeEnd(result) })
  return result
}

/** Tests whether a client waits for the call; the engine makes all others by itself. */
function isForClient({ hook }: CallRequest): boolean {
  return hook.kind === 'http'
}

/** Tests whether a call that failed may have failed by its component; false when the component is not to blame. */
export function countsAsAttempt({ kind }: CallResult): boolean {
  return kind !== 'unavailable' && kind !== 'reconciling' && kind !== 'stale-chain'
}

/**
 * Returns the milliseconds until the time at which the result says that the call can succeed; undefined when it says no
 * time, and so counts as a failed attempt.
 */
export function pauseOf(result: CallResult, now: Date): number | undefined {
  const until = 'until' in result ? result.until : undefined
  return until && Math.max(0, until.getTime() - now.getTime())
}

function describeEnd(result: CallResult): Pick<CallRecord, 'outcome' | 'status' | 'why' | 'log'> {
  const { kind: outcome } = result
  if (outcome === 'done') return { outcome, status: result.response?.status, log: result.effects.log }
  if (outcome === 'quota') return { outcome, why: `limits.${result.limit}`, log: result.log }
  return 'why' in result ? { outcome, why: result.why, log: result.log } : { outcome }
}

async function performInTurn(
  context: EngineContext,
  entry: ContractEntry,
  findTarget: () => CallTarget | undefined,
  request: CallRequest,
): Promise<CallResult> {
  let mode = request.mode
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    const result = await entry.queue.run(
      mode,
      (queueMs) => attemptCall(context, findTarget, { ...request, mode, queueMs }),
      runs > 0 || !isForClient(request),
    )
    if (result.kind === 'overloaded') {
      context.metrics.refused.inc({ limit: result.limit })
      break
    }
    if (result.kind !== 'conflict') return result
    context.metrics.conflicts.inc()
    mode = 'serial'
  }
  return { kind: 'overloaded', until: retryTimeWhenFull(context.now()) }
}

/** An attempt of a call, which may wait for a worker for `queueMs` milliseconds more. */
interface CallAttempt extends CallRequest {
  readonly queueMs: number
}

/** The result of one attempt. After a `conflict` the call runs again, because the state that it used has changed. */
type AttemptResult = Exclude<CallResult, { kind: 'overloaded' }> | { readonly kind: 'conflict' } | Overload

/** The refusal of a call, by a limit of its contract's queue, or because no worker was free. */
type Overload = QueueRefusal | { readonly kind: 'overloaded'; readonly limit: 'workers' }

/**
 * Runs a call once, and commits it. Returns `conflict` when the contract or the fork changed meanwhile, and when a
 * `shared` call turned out to write; such a call is repeated in the mode `serial`.
 */
async function attemptCall(
  context: EngineContext,
  findTarget: () => CallTarget | undefined,
  attempt: CallAttempt,
): Promise<AttemptResult> {
  const target = findTarget()
  if (attempt.isAbandoned?.() === true) return { kind: 'abandoned' }
  if (target === undefined) return { kind: 'unavailable' }
  const { contract, block, entry } = target
  const contractRow = await context.contractRows.get(contract.address)
  const standing = await checkFork(context, entry, contractRow, block)
  if (standing !== 'settled' && !HOOKS_WHILE_RECONCILING.has(attempt.hook.kind)) {
    return { kind: standing === 'reconciling' ? 'reconciling' : 'stale-chain' }
  }
  const fork = entry.fork.number
  const storageReads: StorageReads = new Map()
  const outcome = await runHookOnce(context, target, { ...attempt, contractRow, storageReads })
  // After a reorganisation the chain may lack the block that the outcome was computed from.
  if (entry.fork.number !== fork) return { kind: 'conflict' }
  if (outcome.kind !== 'done') return failureOf(outcome)
  const { effects, result } = outcome
  const response = outcome.response && toWire(outcome.response, context.config.cors)
  const endState = {
    status: response?.status,
    endedTimer: attempt.endedTimer,
    ...forkMembers(target, attempt, contractRow),
  }
  const callToCommit = { address: contract.address, contractRow, storageReads, effects, ...endState }
  if (attempt.mode === 'shared' && isWriting(callToCommit)) return { kind: 'conflict' }
  const commitResult = await commitCall(context, callToCommit)
  uncheckMovedFork(entry, fork)
  if (commitResult.kind === 'quota') {
    reportQuota(context, target, attempt, commitResult)
    return { ...commitResult, log: effects.log }
  }
  if (commitResult.kind !== 'committed') return commitResult
  return { kind: 'done', response, result, effects, block }
}

/**
 * Returns the block that the commit of a call stores, and whether the call reconciles its contract. Until the state
 * change hook has run, a contract keeps the block that the chain lacks, so that it also waits after a restart.
 */
function forkMembers(
  { entry, block }: CallTarget,
  { hook }: CallRequest,
  { block: blockBefore = block }: CallToCommit['contractRow'],
): Pick<CallToCommit, 'block' | 'reconciles'> {
  if (entry.fork.standing !== 'reconciling') return { block }
  return hook.kind === 'state-change' ? { block, reconciles: true } : { block: blockBefore }
}

/** Returns the result of a run that cannot be committed. Throws the error of an outage that is not the chain's. */
function failureOf(outcome: Exclude<RunOutcome, { kind: 'done' }>): AttemptResult {
  switch (outcome.kind) {
    case 'trap':
    case 'bad-response':
      return { kind: outcome.kind, why: outcome.message, log: outcome.log }
    case 'deadline':
      return { kind: 'deadline' }
    case 'overloaded':
      return { kind: 'overloaded', limit: 'workers' }
    case 'stopped':
      return { kind: 'unavailable' }
    case 'outage':
      if (isChainOutage(outcome.error)) return { kind: 'stale-chain' }
      throw outcome.error
  }
}

function reportQuota(
  { metrics, log, config: { limits } }: EngineContext,
  { contract: { address } }: CallTarget,
  { requestId }: CallRequest,
  { limit }: Quota,
): void {
  metrics.refused.inc({ limit })
  log.warn(
    { event: 'quota', request: requestId, contract: address, limit, value: limits[limit] },
    'the call would exceed a limit, and nothing of it is stored',
  )
}
