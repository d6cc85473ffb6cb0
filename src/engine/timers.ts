/**
 * Runs timers that are due. A timer ends when its call succeeds. After a failure it runs again later, and is given up
 * after too many failures. An outage of the chain or of the database does not count as a failure.
 */
import type { TimerRow } from './collections.ts'
import type { EngineContext } from './context.ts'
import { type CallTarget, type ContractEntry, findCallTarget } from './contract-entry.ts'
import { countsAsAttempt, pauseOf, performCall } from './perform.ts'
import { callBackOffMs, MAX_CALL_ATTEMPTS } from './retry.ts'
import { endedTimerRow } from './timer-book.ts'

/** Runs a timer that is due. When an unexpected error occurs, postpones the timer in memory and rethrows the error. */
export async function runTimer(context: EngineContext, entry: ContractEntry, id: number): Promise<void> {
  try {
    await runOrPlan(context, entry, id)
  } catch (error) {
    context.timers.postpone(entry.address, id)
    throw error
  }
}

async function runOrPlan(context: EngineContext, entry: ContractEntry, id: number): Promise<void> {
  const { timers, now, log } = context
  const row = timers.get(entry.address, id)
  if (row?.status !== 'scheduled' || row.at > now().getTime()) return
  const hook = { kind: 'timer', id, payload: new Uint8Array(Buffer.from(row.payload, 'base64')) } as const
  // A timer that was cancelled or scheduled anew while the call waited is not run by this call.
  const findTarget = (): CallTarget | undefined =>
    timers.get(entry.address, id) === row ? findCallTarget(context, entry) : undefined
  const endedTimer = { id, row: endedTimerRow(row, 'done', now()) }
  const result = await performCall(context, entry, findTarget, { hook, mode: 'serial', endedTimer })
  if (result.kind === 'done' || timers.get(entry.address, id) !== row) return
  if (!countsAsAttempt(result)) {
    timers.postpone(entry.address, id)
    return
  }
  const pauseMs = pauseOf(result, now())
  const nextRow = pauseMs === undefined ? rowAfterFailure(row, now()) : { ...row, at: now().getTime() + pauseMs }
  const plan = timers.plan(entry.address, [], now(), { id, row: nextRow })
  const conflict = await context.store.commit(plan.changes).catch((error: unknown) => {
    timers.invalidate()
    throw error
  })
  if (conflict === undefined) plan.apply()
  else timers.invalidate()
  if (nextRow.status === 'failed') {
    log.error(
      { event: 'timer_failed', contract: entry.address, timer: id },
      'the timer failed too often, and was given up',
    )
  }
}

function rowAfterFailure(row: TimerRow, now: Date): TimerRow {
  const attempts = row.attempts + 1
  if (attempts >= MAX_CALL_ATTEMPTS) return endedTimerRow({ ...row, attempts }, 'failed', now)
  return { ...row, attempts, at: now.getTime() + callBackOffMs(attempts) }
}
