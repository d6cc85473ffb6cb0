/**
 * Delivers the queued events. A process reserves the row of a session, posts its first event, and then removes the
 * event or postpones it. A reservation expires, so that no event is lost when a process ends; the event is then sent
 * again with the same id.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Task } from '../async/task.ts'
import type { JsonObject } from '../codec/json.ts'
import type { SessionCallback } from '../config/session-callback.ts'
import { describeErrorForLog } from '../http/logged-error.ts'
import type { Outbound } from '../http/outbound.ts'
import type { RetryOnConflict } from '../store/retry.ts'
import { type Change, type DueRow, END_OF_TIME, type Row } from '../store/store.ts'
import { type SeparatedRows, separateUnreadable } from '../store/unreadable-rows.ts'
import { FIRST_PACE, isPausing, type Pace, paceAfterFailure, paceAfterSuccess, retryDelayMs } from './pace.ts'
import { type DeliveryResult, makeInternalFailure, postCallback } from './post.ts'
import {
  type CallbackCollections,
  type CallbackQueue,
  type CallbackStore,
  makeDeadCallbackChange,
  makeDequeueChange,
  type PendingCallback,
} from './queue.ts'

export interface DeliveryContext {
  readonly store: CallbackStore
  readonly retryOnConflict: RetryOnConflict
  readonly sessionCallback: SessionCallback
  /**
   * Returns the body to send. The issuer completes the stored status body `eventData`; the verifier, whose events have
   * none, reads the current status of the session. Undefined when the session was deleted and there is no `eventData`.
   */
  readonly loadCallbackData: (sessionId: string, eventData: JsonObject | undefined) => Promise<JsonObject | undefined>
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}

interface Round extends DeliveryContext {
  /** Tests whether the clock may have jumped ahead, so that no event is given up by it. */
  readonly isClockDoubtful: () => boolean
}

/** The right of this process, for some seconds, to deliver the first event of a session. */
interface Reservation {
  readonly sessionId: string
  readonly event: PendingCallback
}

/** The duration of a reservation; a delivery takes less. */
const RESERVATION_MS = 20_000
const GIVE_UP_MS = 24 * 60 * 60 * 1000
/** The longest time for which running deliveries delay the search for new events. */
const LOOK_AGAIN_MS = 300
/**
 * The most by which the clocks of two processes may differ. A clock that is set back by less delays an event by that
 * time only.
 */
const MAX_CLOCK_DIFFERENCE_MS = 60_000

/** How many queues that cannot be read a search for due ones passes over. */
const MAX_UNREADABLE = 20

/**
 * Creates the function that delivers the due events. It ends when none is left, when the receiver is down, or when
 * `stop` is aborted, and then rejects if a queue cannot be read.
 */
export function createDelivery(context: DeliveryContext): Task['run'] {
  let pace: Pace = FIRST_PACE
  const deliverAndAdjustPace = async (round: Round, reservation: Reservation): Promise<void> => {
    const outcome = await deliverReservedEvent(round, reservation)
    if (outcome === 'delivered') pace = paceAfterSuccess(pace)
    // A deleted session does not change the pace: it is not a failure of the receiver.
    else if (outcome === 'failed') pace = paceAfterFailure(pace, reservation.sessionId, context.now())
  }
  const detectSetBack = watchForClockSetBack()
  return async (stop, isClockDoubtful = () => false) => {
    const round: Round = { ...context, isClockDoubtful }
    const wasSetBack = detectSetBack(context.now())
    const running = new Set<Promise<void>>()
    let damage: Error | undefined
    while (stop?.aborted !== true) {
      const free = isPausing(pace, context.now()) ? 0 : pace.atOnce - running.size
      const search = free > 0 ? await reserveDueRows(context, free, wasSetBack) : NOTHING_DUE
      const { due, reservations } = search
      damage = search.damage ?? damage
      for (const reservation of reservations) {
        const delivery: Promise<void> = deliverAndAdjustPace(round, reservation).finally(() => running.delete(delivery))
        running.add(delivery)
      }
      if (due === 0 && running.size === 0) break
      await waitForDeliveries(running)
    }
    await Promise.all(running)
    if (damage !== undefined) throw damage
  }
}

async function waitForDeliveries(running: ReadonlySet<Promise<void>>): Promise<void> {
  if (running.size === 0) return
  const timeout = new AbortController()
  await Promise.race([Promise.all(running), wait(LOOK_AGAIN_MS, undefined, { signal: timeout.signal }).catch(() => {})])
  timeout.abort()
}

/**
 * Creates the function that tells whether the clock may have been set back. It returns true in the first call, when the
 * time before this process is unknown, and later until the clock has reached its latest time again.
 */
function watchForClockSetBack(): (now: Date) => boolean {
  let latest = Infinity
  return (now) => {
    const wasSetBack = now.getTime() < latest - MAX_CLOCK_DIFFERENCE_MS
    latest = latest === Infinity ? now.getTime() : Math.max(latest, now.getTime())
    return wasSetBack
  }
}

/**
 * Returns the due rows that can be read. When none is due and the clock was set back, returns the rows whose due time
 * was set by the clock before.
 */
async function findDueRows(
  { store }: DeliveryContext,
  at: Date,
  { limit, wasSetBack }: { readonly limit: number; readonly wasSetBack: boolean },
): Promise<SeparatedRows<DueRow<CallbackQueue>>> {
  const due = await listReadable(store, at, limit)
  if (due.rows.length > 0 || !wasSetBack) return due
  const { rows, damage } = await listReadable(store, END_OF_TIME, limit)
  return { rows: rows.filter(({ value: { setAt = 0 } }) => setAt > at.getTime() + MAX_CLOCK_DIFFERENCE_MS), damage }
}

/** Lists due rows that can be read. A row that cannot stays due, so more rows are read where there is one. */
async function listReadable(
  store: CallbackStore,
  at: Date,
  limit: number,
): Promise<SeparatedRows<DueRow<CallbackQueue>>> {
  const separatedRows = separateUnreadable(await store.listDue('callback', at, limit))
  if (separatedRows.damage === undefined) return separatedRows
  const { rows, damage } = separateUnreadable(await store.listDue('callback', at, limit + MAX_UNREADABLE))
  return { rows: rows.slice(0, limit), damage }
}

interface Search {
  /** The number of due queues that can be read. */
  readonly due: number
  readonly reservations: readonly Reservation[]
  /** Why a queue cannot be read. */
  readonly damage: Error | undefined
}

const NOTHING_DUE: Search = { due: 0, reservations: [], damage: undefined }

/** Reserves due rows, each in a commit of its own. Skips a row that another process reserves first. */
async function reserveDueRows(context: DeliveryContext, limit: number, wasSetBack: boolean): Promise<Search> {
  const { store, now } = context
  const at = now()
  const { rows, damage } = await findDueRows(context, at, { limit, wasSetBack })
  const nextAt = at.getTime() + RESERVATION_MS
  const reservations = await Promise.all(
    rows.map(async ({ id, version, value }) => {
      const reservedQueue: CallbackQueue = { ...value, claimed: true, nextAt, setAt: at.getTime() }
      const [event] = value.events
      const conflict = await store.commit([
        { update: 'callback', id, version, value: reservedQueue, dueAt: new Date(nextAt) },
      ])
      return conflict === undefined ? [{ sessionId: id, event }] : []
    }),
  )
  return { due: rows.length, reservations: reservations.flat(), damage }
}

/**
 * Delivers the event of a reservation, and stores the result. When it cannot be stored, this is logged, and the
 * reservation expires.
 */
async function deliverReservedEvent(
  context: Round,
  reservation: Reservation,
): Promise<'delivered' | 'failed' | 'session gone'> {
  const result = await postReservedEvent(context, reservation)
  try {
    await recordResult(context, reservation, result)
  } catch (err) {
    const line = { event: 'callback_error', callback: reservation.event.id, err }
    context.log.error(line, 'what became of a callback could not be recorded')
    return 'failed'
  }
  if (result === SESSION_GONE) return 'session gone'
  return result.delivered ? 'delivered' : 'failed'
}

/** Posts the event of a reservation. Never rejects: an event whose data cannot be loaded is a failed delivery. */
async function postReservedEvent(context: Round, { sessionId, event }: Reservation): Promise<ReservationResult> {
  let data: JsonObject | undefined
  try {
    data = await context.loadCallbackData(sessionId, event.data)
  } catch (error) {
    return makeInternalFailure(error)
  }
  return data === undefined ? SESSION_GONE : postCallback(context, event, data, context.now())
}

type ReservationResult = DeliveryResult | typeof SESSION_GONE

const SESSION_GONE = {
  delivered: false,
  problem: 'its session has been deleted',
  retryAfterMs: 0,
  error: undefined,
  final: true,
} as const

/** Stores the result of the first event of the queue. Events that were queued meanwhile stay. */
async function recordResult(
  context: Round,
  { sessionId, event }: Reservation,
  result: ReservationResult,
): Promise<void> {
  const { store, retryOnConflict, now } = context
  const writeLog = await retryOnConflict<() => void>(async () => {
    const row = await store.get('callback', sessionId)
    // The reservation expired, and another process has delivered the event too.
    if (row?.value.events[0]?.id !== event.id) return { committed: () => undefined }
    const settlement = createSettlement(context, { sessionId, event, row, result }, now())
    const conflict = await store.commit(settlement.changes)
    return conflict === undefined ? { committed: settlement.writeLog } : { conflict }
  })
  writeLog()
}

interface Settlement {
  readonly changes: readonly Change<CallbackCollections>[]
  readonly writeLog: () => void
}

/**
 * Returns the changes for the result of a delivery: removes a delivered event, stores an event that is given up as
 * dead, and postpones any other. `writeLog` is called after the commit.
 */
function createSettlement(
  { random, log, isClockDoubtful }: Round,
  {
    sessionId,
    event,
    row,
    result,
  }: Reservation & { readonly row: Row<CallbackQueue>; readonly result: ReservationResult },
  now: Date,
): Settlement {
  const { value, version } = row
  const dequeueChange = makeDequeueChange(sessionId, version, value, now)
  if (result.delivered) return { changes: [dequeueChange], writeLog: () => undefined }
  const { problem, retryAfterMs, error } = result
  const logFields = {
    callback: event.id,
    type: event.type,
    problem,
    ...(error !== undefined && { error: describeErrorForLog(error) }),
  }
  const isTooOld = now.getTime() - event.queuedAt >= GIVE_UP_MS && !isClockDoubtful()
  if ('final' in result || isTooOld) {
    const writeLog = () =>
      log.error(
        { event: 'callback_dead', ...logFields },
        'a callback was given up; vouchsafe callbacks retry sends it again',
      )
    return { changes: [dequeueChange, makeDeadCallbackChange(sessionId, event, problem, now)], writeLog }
  }
  const failures = value.failures + 1
  const nextAt = now.getTime() + retryDelayMs(failures, retryAfterMs, random)
  const postponedQueue: CallbackQueue = { ...value, failures, problem, claimed: false, nextAt, setAt: now.getTime() }
  return {
    changes: [{ update: 'callback', id: sessionId, version, value: postponedQueue, dueAt: new Date(nextAt) }],
    writeLog: () =>
      log.warn({ event: 'callback_failed', ...logFields, failures }, 'a callback failed, and is tried again later'),
  }
}
