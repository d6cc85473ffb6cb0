/**
 * Delivers what waits: whoever claims the row of a session posts its first event, and takes it away or moves it to later.
 * A claim ends by itself, so that nothing is lost with a process that dies; then the event goes out again under its id.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { JsonObject } from '../codec/json.ts'
import type { SessionCallback } from '../config/session-callback.ts'
import type { Outbound } from '../http/outbound.ts'
import type { RetryOnConflict } from '../store/retry.ts'
import type { Change, Row } from '../store/store.ts'
import { type Attempt, attempt } from './attempt.ts'
import { afterFailure, afterSuccess, FIRST_PACE, type Pace, retryDelayMs } from './pace.ts'
import {
  buried,
  type CallbackCollections,
  type CallbackQueue,
  type CallbackStore,
  type PendingCallback,
  withoutFirst,
} from './queue.ts'

export interface DeliveryContext {
  readonly store: CallbackStore
  readonly retryOnConflict: RetryOnConflict
  readonly sessionCallback: SessionCallback
  /**
   * What is sent of the session: the status body that the event has of its own, with what only the session may have; or
   * that of the session as it is. Undefined when there is neither.
   */
  readonly dataOf: (sessionId: string, own: JsonObject | undefined) => Promise<JsonObject | undefined>
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}

interface Claim {
  readonly sessionId: string
  readonly event: PendingCallback
}

/** Longer than an attempt can take. */
const LEASE_MS = 20_000
const GIVE_UP_MS = 24 * 60 * 60 * 1000
/** How long one that is slow may keep those that came since from being found. */
const LOOK_AGAIN_MS = 300

/** The function that delivers all that is due, until nothing is, or the receiver is down, or the signal is given. */
export function callbackDelivery(context: DeliveryContext): (stop?: AbortSignal) => Promise<void> {
  let pace: Pace = FIRST_PACE
  const deliver = async (claim: Claim): Promise<void> => {
    const delivered = await deliverClaimed(context, claim)
    pace = delivered ? afterSuccess(pace) : afterFailure(pace, claim.sessionId, context.now())
  }
  return async (stop) => {
    const running = new Set<Promise<void>>()
    while (stop?.aborted !== true) {
      const free = context.now().getTime() < pace.notBefore ? 0 : pace.atOnce - running.size
      const { found, claims } = free > 0 ? await claimDue(context, free) : { found: 0, claims: [] }
      for (const claim of claims) {
        const delivery: Promise<void> = deliver(claim).finally(() => running.delete(delivery))
        running.add(delivery)
      }
      if (found === 0 && running.size === 0) return
      await settledOrLate(running)
    }
    await Promise.all(running)
  }
}

async function settledOrLate(running: ReadonlySet<Promise<void>>): Promise<void> {
  if (running.size === 0) return
  const late = new AbortController()
  await Promise.race([Promise.all(running), wait(LOOK_AGAIN_MS, undefined, { signal: late.signal }).catch(() => {})])
  late.abort()
}

/** Claims what is due, each for itself: a row that another process was faster with is left to it. */
async function claimDue(
  { store, now }: DeliveryContext,
  limit: number,
): Promise<{ readonly found: number; readonly claims: readonly Claim[] }> {
  const at = now()
  const rows = await store.due('callback', at, limit)
  const nextAt = at.getTime() + LEASE_MS
  const claims = await Promise.all(
    rows.map(async ({ id, version, value }) => {
      const claimed: CallbackQueue = { ...value, claimed: true, nextAt }
      const [event] = value.events
      const conflict = await store.commit([
        { update: 'callback', id, version, value: claimed, dueAt: new Date(nextAt) },
      ])
      return conflict === undefined && event !== undefined ? [{ sessionId: id, event }] : []
    }),
  )
  return { found: rows.length, claims: claims.flat() }
}

/** Whether it was delivered. What goes wrong with us is logged, and the claim then ends by itself. */
async function deliverClaimed(context: DeliveryContext, claim: Claim): Promise<boolean> {
  const { sessionId, event } = claim
  try {
    const data = await context.dataOf(sessionId, event.data)
    const made: Made = data === undefined ? SESSION_GONE : await attempt(context, event, data, context.now())
    await settle(context, claim, made)
    return made.delivered
  } catch (err) {
    context.log.error({ event: 'callback_error', callback: event.id, err }, 'a callback could not be made or recorded')
    return false
  }
}

type Made = Attempt | typeof SESSION_GONE

const SESSION_GONE = {
  delivered: false,
  problem: 'its session has been deleted',
  retryAfterMs: 0,
  final: true,
} as const

/** Writes down what became of the first event; again when others came behind it in the meantime. */
async function settle(context: DeliveryContext, { sessionId, event }: Claim, made: Made): Promise<void> {
  const { store, retryOnConflict, now } = context
  const tell = await retryOnConflict<() => void>(async () => {
    const row = await store.get('callback', sessionId)
    // The claim was over, and another process has delivered the event too.
    if (row?.value.events[0]?.id !== event.id) return { committed: () => undefined }
    const settled = outcomeOf(context, { sessionId, event, row, made }, now())
    const conflict = await store.commit(settled.changes)
    return conflict === undefined ? { committed: settled.tell } : { conflict }
  })
  tell()
}

interface Settled {
  readonly changes: readonly Change<CallbackCollections>[]
  readonly tell: () => void
}

function outcomeOf(
  { random, log }: DeliveryContext,
  { sessionId, event, row, made }: Claim & { readonly row: Row<CallbackQueue>; readonly made: Made },
  now: Date,
): Settled {
  const { value, version } = row
  const next = withoutFirst(sessionId, version, value, now)
  if (made.delivered) return { changes: [next], tell: () => undefined }
  const { problem, retryAfterMs } = made
  const told = { callback: event.id, type: event.type, problem }
  if ('final' in made || now.getTime() - event.queuedAt >= GIVE_UP_MS) {
    const tell = () =>
      log.error({ event: 'callback_dead', ...told }, 'given up; vouchsafe callbacks retry sends it again')
    return { changes: [next, buried(sessionId, event, problem, now)], tell }
  }
  const failures = value.failures + 1
  const nextAt = now.getTime() + retryDelayMs(failures, retryAfterMs, random)
  const later: CallbackQueue = { ...value, failures, problem, claimed: false, nextAt }
  return {
    changes: [{ update: 'callback', id: sessionId, version, value: later, dueAt: new Date(nextAt) }],
    tell: () => log.warn({ event: 'callback_failed', ...told, failures }, 'tried again later'),
  }
}
