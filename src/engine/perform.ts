/**
 * Performs one call of a component, from its place in the queue to its commit. The effects of a call are committed as
 * a whole, on condition that nothing else of its contract was changed while it ran; otherwise the call is run again on
 * the new state.
 */
import type { Block } from '../chain/chain.ts'
import type { Problem } from '../codec/malformed.ts'
import type { CallEffects, Hook, RunOutcome } from '../component/runtime.ts'
import type { HttpResponseData } from '../offchain/http-data.ts'
import type { EndedCall } from './call-history.ts'
import type { CallMode, QueueRefusal } from './call-queue.ts'
import { commitCall, isWriting, type Quota, type Seen } from './commit.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget, ContractEntry } from './contract-entry.ts'
import type { ContractRow } from './contract-rows.ts'
import { hostOf } from './host.ts'
import type { ProblemCode } from './problem.ts'
import { isReconciled } from './reconcile.ts'
import { toWire, type WireResponse } from './response.ts'
import { retryWhenFull } from './retry.ts'
import type { EndedTimer } from './timer-book.ts'

export interface CallRequest {
  readonly hook: Hook
  readonly mode: CallMode
  /** The id of the HTTP request, for the log. */
  readonly request?: string
  /** The timer that ends with this call. */
  readonly ended?: EndedTimer
  /** Tests whether nobody waits for the call any more. */
  readonly isAbandoned?: () => boolean
}

/** The result of a call. Only a call that is `done` leaves anything behind. */
export type CallResult =
  | {
      readonly kind: 'done'
      /** The response of the HTTP hook. */
      readonly response: WireResponse | undefined
      readonly result: Uint8Array
      readonly effects: CallEffects
      readonly block: Block
    }
  | ({ readonly kind: 'quota'; readonly log: readonly string[] } & Quota)
  /** Too many others. */
  | { readonly kind: 'overloaded'; readonly until: Date }
  /** `reconciling`: the chain took back what the contract had been acted on at, and its hook runs first. */
  | { readonly kind: 'deadline' | 'unavailable' | 'reconciling' }
  /** `why` and `log` are for the operator. */
  | { readonly kind: 'trap' | 'bad-response'; readonly why: string; readonly log: readonly string[] }

const PROBLEM_OF: Readonly<Record<Exclude<CallResult['kind'], 'done' | 'quota'>, ProblemCode>> = {
  trap: 'component-trap',
  'bad-response': 'bad-component-response',
  deadline: 'deadline',
  overloaded: 'overloaded',
  // The contract was stopped, or changed its component, while the call waited.
  unavailable: 'starting',
  reconciling: 'reconciling',
}

const QUOTA_PROBLEM: Readonly<Record<Quota['limit'], ProblemCode>> = {
  storageBytes: 'storage-quota',
  timers: 'storage-quota',
  outboxTransactions: 'transaction-quota',
  transactionsPerDay: 'transaction-quota',
}

/** Returns the code that stands for a call of which nothing was kept. */
export function problemCode(performed: Exclude<CallResult, { kind: 'done' }>): ProblemCode {
  return performed.kind === 'quota' ? QUOTA_PROBLEM[performed.limit] : PROBLEM_OF[performed.kind]
}

const MOST_RUNS = 10
/** Hooks that run before a contract is reconciled. */
const RECONCILING: ReadonlySet<Hook['kind']> = new Set(['state-change', 'engines'])
const NEVER_WRITTEN = -1

/**
 * Performs a call and adds its result to the history of the contract. `target` is called when the call begins, since it
 * may wait before.
 */
export async function perform(
  context: EngineContext,
  entry: ContractEntry,
  target: () => CallTarget | undefined,
  request: CallRequest,
): Promise<CallResult> {
  const began = context.now()
  const performed = await performInTurn(context, entry, target, request)
  const { hook, request: id } = request
  const milliseconds = context.now().getTime() - began.getTime()
  context.calls.add(entry.address, { hook, began, milliseconds, request: id, ...endOf(performed) })
  return performed
}

function endOf(performed: CallResult): Pick<EndedCall, 'outcome' | 'status' | 'why' | 'log'> {
  const { kind: outcome } = performed
  if (outcome === 'done') return { outcome, status: performed.response?.status, log: performed.effects.log }
  if (outcome === 'quota') return { outcome, why: `limits.${performed.limit}`, log: performed.log }
  return 'why' in performed ? { outcome, why: performed.why, log: performed.log } : { outcome }
}

async function performInTurn(
  context: EngineContext,
  entry: ContractEntry,
  target: () => CallTarget | undefined,
  request: CallRequest,
): Promise<CallResult> {
  let mode = request.mode
  for (let runs = 0; runs < MOST_RUNS; runs++) {
    const performed = await entry.queue.run(
      mode,
      (queueMs) => runOnce(context, target, { ...request, mode, queueMs }),
      runs > 0,
    )
    if (performed.kind === 'overloaded') {
      context.metrics.refused.inc({ limit: 'queued' })
      break
    }
    if (performed.kind !== 'conflict') return performed
    context.metrics.conflicts.inc()
    mode = 'serial'
  }
  return { kind: 'overloaded', until: retryWhenFull(context.now()) }
}

/** A call that may wait for a worker for `queueMs` milliseconds more. */
interface CallAttempt extends CallRequest {
  readonly queueMs: number
}

/** The result of one attempt. After a `conflict` the call runs again: what it was computed from has changed. */
type AttemptResult = Exclude<CallResult, { kind: 'overloaded' }> | { readonly kind: 'conflict' } | QueueRefusal

async function runOnce(
  context: EngineContext,
  targetNow: () => CallTarget | undefined,
  attempt: CallAttempt,
): Promise<AttemptResult> {
  const target = targetNow()
  if (target === undefined || attempt.isAbandoned?.() === true) return { kind: 'unavailable' }
  const { contract, block, entry } = target
  const contractRow = await context.contractRows.get(contract.address)
  const isFree = (await isReconciled(context, entry, contractRow)) || RECONCILING.has(attempt.hook.kind)
  if (!isFree) return { kind: 'reconciling' }
  const fork = entry.fork.number
  const seen: Seen = new Map()
  const outcome = await run(context, target, { ...attempt, contractRow, seen })
  // The block that the outcome was computed from may be gone.
  if (entry.fork.number !== fork) return { kind: 'conflict' }
  if (outcome.kind === 'trap' || outcome.kind === 'bad-response') {
    return { kind: outcome.kind, why: outcome.message, log: outcome.log }
  }
  if (outcome.kind !== 'done') return { kind: outcome.kind }
  const { effects, result } = outcome
  const isHttp = attempt.hook.kind === 'http'
  const response = isHttp ? wireOf(context, target, attempt, outcome.response) : undefined
  // An unsendable response fails the call; its effects are discarded.
  if (response && 'problem' in response) return { kind: 'bad-response', why: response.problem, log: effects.log }
  const reconciles = entry.fork.standing === 'reconciling' && attempt.hook.kind === 'state-change'
  const done = { contract: contract.address, contractRow, seen, effects, block, reconciles }
  const finished = { ...done, status: response?.status, ended: attempt.ended }
  if (attempt.mode === 'shared' && isWriting(finished)) return { kind: 'conflict' }
  const committed = await commitCall(context, finished)
  if (committed.kind === 'quota') {
    noteQuota(context, target, attempt, committed)
    return { ...committed, log: effects.log }
  }
  if (committed.kind !== 'committed') return committed
  return { kind: 'done', response, result, effects, block }
}

/** Returns the response in the form of the wire; or why it cannot be sent, which the log says too. */
function wireOf(
  { log, config }: EngineContext,
  { contract: { address } }: CallTarget,
  { request }: CallRequest,
  response: HttpResponseData | undefined,
): WireResponse | Problem {
  const wire = response === undefined ? { problem: 'there is no response' } : toWire(response, config.cors)
  if (!('problem' in wire)) return wire
  log.warn(
    { event: 'bad_component_response', request, contract: address, why: wire.problem },
    'the response of the component cannot be sent over HTTP',
  )
  return wire
}

function noteQuota(
  { metrics, log, limits }: EngineContext,
  { contract: { address } }: CallTarget,
  { request }: CallRequest,
  { limit }: Quota,
): void {
  metrics.refused.inc({ limit })
  log.warn(
    { event: 'quota', request, contract: address, limit, value: limits[limit] },
    'the call would exceed a limit, and nothing of it is stored',
  )
}

interface Run extends Pick<CallAttempt, 'hook' | 'request' | 'queueMs'> {
  readonly contractRow: ContractRow
  readonly seen: Seen
}

async function run(
  context: EngineContext,
  target: CallTarget,
  { hook, request, queueMs, contractRow, seen }: Run,
): Promise<RunOutcome> {
  const { runtime, chain, engine, limits, metrics, now, log } = context
  const { component, contract, block } = target
  const began = now().getTime()
  const outcome = await runtime.run(
    {
      component,
      hook,
      contract: contract.address,
      engine,
      chain: { id: chain.id, addresses: chain.addresses },
      block: { number: block.number, time: block.time },
      state: contract.state,
      now: now(),
      deadlineMs: (hook.kind === 'http' ? limits.httpSeconds : limits.stateChangeSeconds) * 1000,
      queueMs,
      // A commit compares the row's version, so that a value that a worker has cached is as good as the database.
      storageVersion: contractRow.version ?? NEVER_WRITTEN,
    },
    hostOf(context, target, seen),
  )
  metrics.calls.inc({ hook: hook.kind, outcome: outcome.kind })
  metrics.seconds.observe({ hook: hook.kind }, (now().getTime() - began) / 1000)
  const line = { request, contract: contract.address, hook: hook.kind }
  if (outcome.kind === 'overloaded') log.warn({ event: 'no_worker', ...line }, 'no worker was free in time')
  else if (outcome.kind === 'deadline')
    log.warn({ event: 'component_deadline', ...line }, 'the component took too long')
  else {
    if (outcome.kind !== 'done') {
      const event = outcome.kind === 'trap' ? 'component_trap' : 'bad_component_response'
      log.warn({ event, ...line, why: outcome.message }, 'nothing of this call was kept')
    }
    const lines = outcome.kind === 'done' ? outcome.effects.log : outcome.log
    for (const text of lines) log.info({ event: 'component_log', ...line, text }, 'said by the component')
  }
  return outcome
}
