/** Runs the state change hook of a contract: once for any number of changes, and once when the engine starts. */
import { hook as hookNames } from '../offchain/hosted.ts'
import { problemCode } from './call-refusal.ts'
import type { EngineContext } from './context.ts'
import { type ContractEntry, findCallTarget } from './contract-entry.ts'
import { pauseOf, performCall } from './perform.ts'
import { endReconciling } from './reconcile.ts'
import { callBackOffMs, MAX_CALL_ATTEMPTS, uncountedPauseMs } from './retry.ts'

/**
 * Tests whether the state change hook has to run now: it is pending and not running, the pause after a failure is over,
 * the component is ready, and the contract lists this engine. `time` is in milliseconds of the clock of
 * `stateChange.notBefore`.
 */
export function needsHookRun({ stateChange, state, listsThisEngine }: ContractEntry, time: number): boolean {
  return (
    stateChange.pending &&
    !stateChange.running &&
    !stateChange.dead &&
    stateChange.notBefore <= time &&
    state.kind === 'ready' &&
    listsThisEngine === true
  )
}

/**
 * Runs the state change hook once, and schedules another run when it fails. A hook that fails too often is given up,
 * unless its contract is being reconciled. An outage of the chain or of the database does not
 * count as a failure.
 */
export async function runHook(context: EngineContext, entry: ContractEntry): Promise<void> {
  const { stateChange, state } = entry
  const target = findCallTarget(context, entry)
  if (target === undefined || state.kind !== 'ready') return
  stateChange.pending = false
  if (!state.hooks.includes(hookNames.stateChange)) {
    // The component may have come while the contract waited for the hook of the one before.
    endReconciling(context, entry)
    return
  }
  try {
    const request = { hook: { kind: 'state-change' }, mode: 'serial' } as const
    const result = await performCall(context, entry, () => findCallTarget(context, entry), request)
    // Only a call of a client is abandoned.
    if (result.kind === 'abandoned') return
    const pauseMs = pauseOf(result, context.now())
    stateChange.problem = result.kind === 'done' ? undefined : problemCode(result)
    if (result.kind === 'done') {
      Object.assign(stateChange, { attempts: 0, uncounted: 0, dead: false, notBefore: 0 })
      endReconciling(context, entry)
    } else if (result.kind === 'unavailable') stateChange.pending = true
    else if (result.kind === 'stale-chain') postponeUncounted(context, entry)
    else if (pauseMs === undefined) retryHook(context, entry)
    else postponeHook(context, entry, pauseMs)
  } catch (error) {
    stateChange.problem = 'server-error'
    postponeUncounted(context, entry)
    throw error
  }
}

/** Schedules another run of a hook after an attempt that does not count. */
function postponeUncounted(context: EngineContext, entry: ContractEntry): void {
  entry.stateChange.uncounted++
  postponeHook(context, entry, uncountedPauseMs(entry.stateChange.uncounted))
}

function postponeHook({ monotonicMs }: EngineContext, { stateChange }: ContractEntry, pauseMs: number): void {
  // The contract has changed while the hook ran; the next run must not be delayed.
  if (stateChange.pending) return
  stateChange.pending = true
  stateChange.notBefore = monotonicMs() + pauseMs
}

/**
 * Schedules another run of a failed hook, or gives the hook up after {@link MAX_CALL_ATTEMPTS} failures. The hook of a
 * contract that is being reconciled is never given up: the contract serves no requests until the hook has run, and
 * there may be no further change that would start it.
 */
function retryHook({ log, monotonicMs }: EngineContext, { address, stateChange, fork }: ContractEntry): void {
  stateChange.attempts++
  stateChange.uncounted = 0
  stateChange.pending = true
  stateChange.notBefore = monotonicMs() + callBackOffMs(stateChange.attempts)
  if (stateChange.attempts < MAX_CALL_ATTEMPTS) return
  const line = { contract: address, attempts: stateChange.attempts }
  if (fork.standing !== 'reconciling') {
    stateChange.dead = true
    log.error(
      { event: 'state_change_dead', ...line },
      'the state change hook was given up until the contract changes again',
    )
  } else if (stateChange.attempts === MAX_CALL_ATTEMPTS)
    log.error({ event: 'reconciling_fails', ...line }, RECONCILING_FAILS_TEXT)
}

const RECONCILING_FAILS_TEXT =
  'the contract answers 503 until its state change hook has run, which fails again and again: see why in lines of this contract'
