/** A timer of a contract that is due: its call ends it, or it is tried again, or given up for good. */
import { targetOf } from './call-target.ts'
import type { TimerRow } from './collections.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget, ContractEntry } from './contract-entry.ts'
import { perform } from './perform.ts'
import { callBackOff, MOST_CALL_ATTEMPTS, retryAt } from './retry.ts'
import { over } from './timer-book.ts'

/** The outcomes after which a timer waits and which count as no attempt. */
const NOT_RUN: ReadonlySet<string> = new Set(['unavailable', 'reconciling'])

export async function runTimer(context: EngineContext, entry: ContractEntry, id: number): Promise<void> {
  const { timers, now } = context
  try {
    await runOrPutOff(context, entry, id)
  } catch (error) {
    timers.postpone(entry.address, id, new Date(now().getTime() + callBackOff(1)))
    throw error
  }
}

async function runOrPutOff(context: EngineContext, entry: ContractEntry, id: number): Promise<void> {
  const { timers, now, log } = context
  const row = timers.get(entry.address, id)
  if (row?.status !== 'scheduled' || row.at > now().getTime()) return
  const hook = { kind: 'timer', id, payload: new Uint8Array(Buffer.from(row.payload, 'base64')) } as const
  // Where it was cancelled or scheduled anew while this waited, it is another timer.
  const target = (): CallTarget | undefined =>
    timers.get(entry.address, id) === row ? targetOf(context, entry) : undefined
  const ended = { id, row: over(row, 'done', now()) }
  const performed = await perform(context, entry, target, { hook, mode: 'serial', ended })
  if (performed.kind === 'done' || NOT_RUN.has(performed.kind)) return
  const again = retryAt(performed)
  const next = again === undefined ? failedOnceMore(row, now()) : { ...row, at: again }
  if (timers.get(entry.address, id) !== row) return
  const plan = timers.plan(entry.address, [], now(), { id, row: next })
  const refused = await context.store.commit(plan.changes).catch((error: unknown) => {
    timers.doubt()
    throw error
  })
  if (refused === undefined) plan.apply()
  else timers.doubt()
  if (next.status === 'failed') log.error({ event: 'timer_failed', contract: entry.address, timer: id }, 'given up')
}

function failedOnceMore(row: TimerRow, now: Date): TimerRow {
  const attempts = row.attempts + 1
  if (attempts >= MOST_CALL_ATTEMPTS) return over({ ...row, attempts }, 'failed', now)
  return { ...row, attempts, at: now.getTime() + callBackOff(attempts) }
}
