/**
 * The callbacks for operators: lists those that wait and those that were given up, and redelivers the latter. The
 * payload is not shown.
 */
import type { Static } from 'typebox'
import { type CallbackQueue, type DeadCallback, deletionTimeOf } from '../callback/queue.ts'
import { epochSeconds } from '../codec/time.ts'
import { redeliverDeadCallback, redeliverDeadCallbacks } from '../event/redelivery.ts'
import { readPage } from '../http/page.ts'
import { refuse } from '../protocol/error.ts'
import type { OperatorContext } from './context.ts'
import type { DeadCallbackPage, PageQuery, Redelivery, RedeliveryResult, WaitingCallbackPage } from './schemas.ts'

type WaitingCallback = Static<typeof WaitingCallbackPage>['callbacks'][number]
type DeadCallbackEntry = Static<typeof DeadCallbackPage>['callbacks'][number]

const MAX_REDELIVERIES = 100

/** Returns a page of the sessions with waiting events. Refuses with `invalid_request` a wrong cursor or page size. */
export async function listWaitingCallbacks(
  context: OperatorContext,
  query: PageQuery,
): Promise<Static<typeof WaitingCallbackPage>> {
  const { entries, ...rest } = await readPage(context, 'callback', { query, entryOf: waitingEntry })
  return { callbacks: [...entries], ...rest }
}

/** Returns a page of the events that were given up. Refuses with `invalid_request` a wrong cursor or page size. */
export async function listDeadCallbacks(
  context: OperatorContext,
  query: PageQuery,
): Promise<Static<typeof DeadCallbackPage>> {
  const { entries, ...rest } = await readPage(context, 'dead_callback', { query, entryOf: deadEntry })
  return { callbacks: [...entries], ...rest }
}

/** Queues an event that was given up for delivery. Refuses with `not_found`. */
export async function redeliverCallback(context: OperatorContext, callbackId: string, caller: string): Promise<void> {
  if (await redeliverDeadCallback(context, callbackId, caller)) return
  refuse('not_found', 'there is no such event that was given up; it may be queued again already')
}

/** Queues the events that were given up until `died_until`, the oldest first. */
export async function redeliverCallbacks(
  context: OperatorContext,
  { died_until: diedUntil = epochSeconds(context.now()) }: Static<typeof Redelivery>,
  caller: string,
): Promise<Static<typeof RedeliveryResult>> {
  // Includes the whole last second. Events that are given up again later are not included, so the loop ends.
  const end = deletionTimeOf({ diedAt: diedUntil * 1000 + 999 })
  const rows = await context.store.listDue('dead_callback', end, MAX_REDELIVERIES + 1)
  const callbackIds = rows.slice(0, MAX_REDELIVERIES).map(({ id }) => id)
  const redeliveredCount = await redeliverDeadCallbacks(context, callbackIds, caller)
  // Rows that cannot be read stay the oldest. A call that finds no others is the last, since the next would find none.
  const hasMore = rows.length > MAX_REDELIVERIES && redeliveredCount > 0
  return { redelivered: redeliveredCount, has_more: hasMore, died_until: diedUntil }
}

function waitingEntry(sessionId: string, queue: CallbackQueue): WaitingCallback {
  const { events, failures, problem, claimed, nextAt } = queue
  const [first] = events
  return {
    callback_id: first.id,
    session_id: sessionId,
    type: first.type,
    occurred_at: epochSeconds(first.at),
    failures,
    ...(problem === undefined ? {} : { problem }),
    ...(claimed ? {} : { next_attempt_at: epochSeconds(nextAt) }),
    behind: events.length - 1,
  }
}

function deadEntry(callbackId: string, deadCallback: DeadCallback): DeadCallbackEntry {
  const { sessionId, event, problem, diedAt } = deadCallback
  return {
    callback_id: callbackId,
    session_id: sessionId,
    type: event.type,
    occurred_at: epochSeconds(event.at),
    problem,
    died_at: epochSeconds(diedAt),
    deleted_at: epochSeconds(deletionTimeOf(deadCallback)),
  }
}
