/**
 * What waits to be told to the application: one row for each session, with its events in their order, so that no later one
 * can overtake. No claims are in it: what a verification found out is put into the body when it is sent.
 */
import type { JsonObject } from '../codec/json.ts'
import { type Change, partOf, type Store, type UpdateEffects } from '../store/store.ts'

export interface PendingCallback {
  readonly id: string
  readonly type: string
  /** When it happened, and when it began to wait; milliseconds since the epoch. */
  readonly at: number
  readonly queuedAt: number
  /** The status body of the session as it then was, where it is not made when it is sent. */
  readonly data?: JsonObject
}

export interface CallbackQueue {
  /** The first is the next to be delivered. */
  readonly events: readonly PendingCallback[]
  /** Of the first. */
  readonly failures: number
  /** Why the last attempt failed, in words. */
  readonly problem?: string
  /** Somebody is delivering the first. */
  readonly claimed: boolean
  /** Milliseconds since the epoch: of the next attempt, or when the claim is over. */
  readonly nextAt: number
}

export interface DeadCallback {
  readonly sessionId: string
  readonly event: PendingCallback
  readonly problem: string
  /** Milliseconds since the epoch. */
  readonly diedAt: number
}

export type CallbackCollections = {
  /** By session id; due when the first event is to be tried. */
  callback: CallbackQueue
  /** By event id; due when it is forgotten. */
  dead_callback: DeadCallback
}

export type CallbackStore = Store<CallbackCollections>
type CallbackChange = Change<CallbackCollections>

const KEPT_DEAD_MS = 30 * 24 * 60 * 60 * 1000
/** An event that was not tried yet is due this much before its time, so that it does not wait for a clock that was set back. */
const CLOCK_SET_BACK_MS = 24 * 60 * 60 * 1000

function dueAtOnce(now: Date): Date {
  return new Date(now.getTime() - CLOCK_SET_BACK_MS)
}

/** The change that puts events at the end of what the session has waiting, for the batch of what they are about. */
export async function queued(
  store: CallbackStore,
  sessionId: string,
  events: readonly PendingCallback[],
  now: Date,
): Promise<CallbackChange> {
  const row = await store.get('callback', sessionId)
  if (row === undefined) {
    const value = { events, failures: 0, claimed: false, nextAt: now.getTime() }
    return { insert: 'callback', id: sessionId, value, dueAt: dueAtOnce(now) }
  }
  const value = { ...row.value, events: [...row.value.events, ...events] }
  return { update: 'callback', id: sessionId, version: row.version, value }
}

/** Whether the application has still to be told something of this session. */
export async function pendingCallback<C extends CallbackCollections>(
  store: Store<C>,
  sessionId: string,
): Promise<boolean> {
  return (await partOf<C, CallbackCollections>(store).get('callback', sessionId)) !== undefined
}

/** The first event is delivered, or given up: the next one comes at once. */
export function withoutFirst(sessionId: string, version: number, queue: CallbackQueue, now: Date): CallbackChange {
  const events = queue.events.slice(1)
  if (events.length === 0) return { delete: 'callback', id: sessionId, version }
  const value = { events, failures: 0, claimed: false, nextAt: now.getTime() }
  return { update: 'callback', id: sessionId, version, value, dueAt: dueAtOnce(now) }
}

export function buried(sessionId: string, event: PendingCallback, problem: string, now: Date): CallbackChange {
  const diedAt = now.getTime()
  const value = { sessionId, event, problem, diedAt }
  return { insert: 'dead_callback', id: event.id, value, dueAt: new Date(diedAt + KEPT_DEAD_MS) }
}

/** Lets a dead event wait again, for as long as a new one. False when there is no such event. */
export function revive(
  { store, retryOnConflict }: UpdateEffects<CallbackCollections>,
  eventId: string,
  now: Date,
): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const dead = await store.get('dead_callback', eventId)
    if (dead === undefined) return { committed: false }
    const { sessionId, event } = dead.value
    const conflict = await store.commit([
      { delete: 'dead_callback', id: eventId, version: dead.version },
      await queued(store, sessionId, [{ ...event, queuedAt: now.getTime() }], now),
    ])
    return conflict === undefined ? { committed: true } : { conflict }
  })
}

/** Lets a queue be tried at once, unless a process is delivering its first event. False when there is no such queue. */
export function hasten(
  { store, retryOnConflict }: UpdateEffects<CallbackCollections>,
  sessionId: string,
  now: Date,
): Promise<boolean> {
  return retryOnConflict<boolean>(async () => {
    const row = await store.get('callback', sessionId)
    if (row === undefined || row.value.claimed) return { committed: false }
    const value = { ...row.value, nextAt: now.getTime() }
    const dueAt = dueAtOnce(now)
    const conflict = await store.commit([{ update: 'callback', id: sessionId, version: row.version, value, dueAt }])
    return conflict === undefined ? { committed: true } : { conflict }
  })
}
