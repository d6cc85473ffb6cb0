/**
 * The queue of callbacks: one row for each session, with its events in order, so that they are delivered in order. The
 * rows do not contain claims of credentials: the result of a verification is added to the body when it is sent.
 */
import type { JsonObject } from '../codec/json.ts'
import type { TraceHeaders } from '../codec/trace-context.ts'
import { type Change, partOf, type Store, type UpdateEffects } from '../store/store.ts'

export interface PendingCallback {
  readonly id: string
  readonly type: string
  /** The time of the event, and the time at which it was queued; milliseconds since the epoch. */
  readonly at: number
  readonly queuedAt: number
  /** The status body of the session at the time of the event, when it cannot be computed later. */
  readonly data?: JsonObject
  /** The trace headers of the request that caused the event; absent without traces. */
  readonly trace?: TraceHeaders
}

/** Events of one session. A queue has one at least: the row of an empty one is deleted. */
export type PendingCallbacks = readonly [PendingCallback, ...PendingCallback[]]

export interface CallbackQueue {
  /** The events in order; the first is delivered next. */
  readonly events: PendingCallbacks
  /** The number of failed deliveries of the first event. */
  readonly failures: number
  /** The reason for which the last delivery failed, as a sentence. */
  readonly problem?: string
  /** True while a process delivers the first event. */
  readonly claimed: boolean
  /** The time of the next delivery, or of the end of the reservation; milliseconds since the epoch. */
  readonly nextAt: number
  /** The time at which `nextAt` was set to a later time. A clock that shows an earlier time was set back since. */
  readonly setAt?: number
}

export interface DeadCallback {
  readonly sessionId: string
  readonly event: PendingCallback
  readonly problem: string
  /** Milliseconds since the epoch. */
  readonly diedAt: number
}

export type CallbackCollections = {
  /** The queues by session id. A row is due when its first event has to be delivered. */
  callback: CallbackQueue
  /** The dead callbacks by event id. A row is due when it has to be deleted. */
  dead_callback: DeadCallback
}

export type CallbackStore = Store<CallbackCollections>
type CallbackChange = Change<CallbackCollections>

const DEAD_CALLBACK_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000
/** The time by which a new event is due early, so that it does not wait when the clock is set back. */
const CLOCK_SET_BACK_MS = 24 * 60 * 60 * 1000

function immediateDueTime(now: Date): Date {
  return new Date(now.getTime() - CLOCK_SET_BACK_MS)
}

/**
 * Creates the change that appends events to the queue of a session. The caller commits it in the batch that moves the
 * events.
 */
export async function makeEnqueueChange(
  store: CallbackStore,
  sessionId: string,
  events: PendingCallbacks,
  now: Date,
): Promise<CallbackChange> {
  const row = await store.get('callback', sessionId)
  if (row === undefined) {
    const value = { events, failures: 0, claimed: false, nextAt: now.getTime() }
    return { insert: 'callback', id: sessionId, value, dueAt: immediateDueTime(now), createdAt: now }
  }
  const value: CallbackQueue = { ...row.value, events: [...row.value.events, ...events] }
  return { update: 'callback', id: sessionId, version: row.version, value }
}

/** Tests whether an event of this session waits for delivery. */
export async function hasPendingCallback<C extends CallbackCollections>(
  store: Store<C>,
  sessionId: string,
): Promise<boolean> {
  return (await partOf<C, CallbackCollections>(store).get('callback', sessionId)) !== undefined
}

/** Creates the change that removes the first event of a queue. The next event is then due at once. */
export function makeDequeueChange(sessionId: string, version: number, queue: CallbackQueue, now: Date): CallbackChange {
  const [, next, ...others] = queue.events
  if (next === undefined) return { delete: 'callback', id: sessionId, version }
  const value: CallbackQueue = { events: [next, ...others], failures: 0, claimed: false, nextAt: now.getTime() }
  return { update: 'callback', id: sessionId, version, value, dueAt: immediateDueTime(now) }
}

/** Returns the time when a dead callback is deleted. */
export function deletionTimeOf({ diedAt }: Pick<DeadCallback, 'diedAt'>): Date {
  return new Date(diedAt + DEAD_CALLBACK_LIFETIME_MS)
}

/** Creates the change that stores an event as dead. */
export function makeDeadCallbackChange(
  sessionId: string,
  event: PendingCallback,
  problem: string,
  now: Date,
): CallbackChange {
  const diedAt = now.getTime()
  const value = { sessionId, event, problem, diedAt }
  return { insert: 'dead_callback', id: event.id, value, dueAt: deletionTimeOf(value), createdAt: now }
}

/** The changes that queue a dead callback again, and the session of the event. */
interface Requeueing {
  readonly changes: readonly CallbackChange[]
  readonly sessionId: string
}

/**
 * Creates the changes that queue a dead callback again; it is tried for as long as a new event. Returns undefined when
 * there is no such event.
 */
export async function makeRequeueChanges(
  store: CallbackStore,
  eventId: string,
  now: Date,
): Promise<Requeueing | undefined> {
  const deadRow = await store.get('dead_callback', eventId)
  if (deadRow === undefined) return undefined
  const { sessionId, event } = deadRow.value
  const enqueueChange = await makeEnqueueChange(store, sessionId, [{ ...event, queuedAt: now.getTime() }], now)
  return { changes: [{ delete: 'dead_callback', id: eventId, version: deadRow.version }, enqueueChange], sessionId }
}

/**
 * Makes a queue due at once. Resolves to false when there is no such queue, or a process is delivering its first event.
 */
export function retryCallbackNow(
  { store, retryOnConflict }: UpdateEffects<CallbackCollections>,
  sessionId: string,
  now: Date,
): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const row = await store.get('callback', sessionId)
    if (row === undefined || row.value.claimed) return { committed: false }
    const value = { ...row.value, nextAt: now.getTime() }
    const dueAt = immediateDueTime(now)
    const conflict = await store.commit([{ update: 'callback', id: sessionId, version: row.version, value, dueAt }])
    return conflict === undefined ? { committed: true } : { conflict }
  })
}
