/** The state change hook of a contract: once for many changes, and once at the start. */
import { targetOf } from './call-target.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import { perform, problemCode } from './perform.ts'
import { endReconciling } from './reconcile.ts'
import { callBackOff, MOST_CALL_ATTEMPTS, retryAt } from './retry.ts'

export function mustRunHook({ hook, state, isOurs }: ContractEntry, at: number): boolean {
  return (
    hook.pending && !hook.running && !hook.dead && hook.notBefore <= at && state.kind === 'ready' && isOurs === true
  )
}

/**
 * Runs the hook once, and again later where it fails. A hook that keeps failing is given up, unless its contract
 * reconciles.
 */
export async function runHook(context: EngineContext, entry: ContractEntry): Promise<void> {
  const { hook, state } = entry
  const target = targetOf(context, entry)
  if (target === undefined || state.kind !== 'ready') return
  hook.pending = false
  if (!state.hooks.includes('off_chain_on_state_change')) return
  try {
    const request = { hook: { kind: 'state-change' }, mode: 'serial' } as const
    const performed = await perform(context, entry, () => targetOf(context, entry), request)
    const again = retryAt(performed)
    hook.problem = performed.kind === 'done' ? undefined : problemCode(performed)
    if (performed.kind === 'done') {
      Object.assign(hook, { attempts: 0, dead: false, notBefore: 0 })
      endReconciling(context, entry)
    } else if (performed.kind === 'unavailable') hook.pending = true
    else if (again === undefined) retryHook(context, entry)
    else runLater(entry, again)
  } catch (error) {
    hook.problem = 'server-error'
    retryHook(context, entry)
    throw error
  }
}

function runLater({ hook }: ContractEntry, at: number): void {
  // The contract has changed while the hook ran: that does not wait.
  if (hook.pending) return
  hook.pending = true
  hook.notBefore = at
}

/**
 * Plans another run of a hook, or gives the hook up after too many. While a contract reconciles its hook is never given
 * up, since without requests there may be no change that would start it.
 */
function retryHook({ log, now }: EngineContext, { address, hook, fork }: ContractEntry): void {
  hook.attempts++
  hook.pending = true
  hook.notBefore = now().getTime() + callBackOff(hook.attempts)
  if (hook.attempts < MOST_CALL_ATTEMPTS) return
  const line = { contract: address, attempts: hook.attempts }
  if (fork.standing !== 'reconciling') {
    hook.dead = true
    log.error({ event: 'state_change_dead', ...line }, 'given up until it changes again')
  } else if (hook.attempts === MOST_CALL_ATTEMPTS) log.error({ event: 'reconciling_fails', ...line }, FAILS)
}

const FAILS =
  'the contract answers 503 until its state change hook has run, which fails again and again: see why in lines of this contract'
