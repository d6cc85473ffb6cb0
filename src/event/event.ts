/**
 * Events of a service: administrative actions, and changes of sessions that an application may want to know. An event
 * is written in the batch of its cause. `pass-on.ts` then moves it into the audit log and to the callback queue.
 */

import type { AuditCollections } from '../audit/collections.ts'
import type { CallbackCollections } from '../callback/queue.ts'
import type { JsonObject } from '../codec/json.ts'
import type { TraceHeaders } from '../codec/trace-context.ts'
import type { Change } from '../store/store.ts'
import { makeTimeOrderedId } from '../store/time-ordered-id.ts'

/** The types of events, and whether an event is posted to the callback. All events go into the audit log. */
export const eventTypes = {
  'audit.read': { isPosted: false },
  'callback.redelivered': { isPosted: false },
  'configuration.created': { isPosted: false },
  'configuration.removed': { isPosted: false },
  'issuance.started': { isPosted: false },
  'issuance.succeeded': { isPosted: true },
  'issuance.deferred': { isPosted: true },
  'issuance.completed': { isPosted: false },
  'issuance.denied': { isPosted: false },
  'issuance.notified': { isPosted: true },
  'issuance.expired': { isPosted: true },
  'credential.revoked': { isPosted: true },
  'credential.suspended': { isPosted: true },
  'credential.reinstated': { isPosted: true },
  'database.restored': { isPosted: false },
  'query.created': { isPosted: false },
  'status-list.unknown-revoked': { isPosted: false },
  'presentation.verified': { isPosted: false },
  'verification.started': { isPosted: false },
  'verification.succeeded': { isPosted: true },
  'verification.failed': { isPosted: true },
  'verification.declined': { isPosted: true },
  'verification.expired': { isPosted: true },
} as const

export type EventType = keyof typeof eventTypes

/** Returns the types of the events about `subjects` that are posted to the callback. */
export function listPostedTypes(...subjects: readonly string[]): string[] {
  return Object.entries(eventTypes).flatMap(([type, { isPosted }]) =>
    isPosted && subjects.includes(type.split('.')[0] ?? '') ? [type] : [],
  )
}

export interface Event {
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly sessionId?: string
  /** The id of the configuration, query, callback, status list or generation that the event is about. */
  readonly subject?: string
  /** How the verification ended that the event is about; absent when the type says it. */
  readonly outcome?: 'succeeded' | 'failed'
  /** The label of the API key of the caller. */
  readonly caller?: string
  /** The status body of the session at the time of the event, for the callback, when it cannot be computed later. */
  readonly data?: JsonObject
  /** The trace headers of the request that caused the event; absent without traces. */
  readonly trace?: TraceHeaders
}

/** The collections of events and of their destinations. */
export type EventCollections = AuditCollections &
  CallbackCollections & {
    /** The events by id. A row is deleted when its event has been moved into the audit log. */
    event: Event
  }

/** The names of the other collections of events, which a later migration adds. */
export const eventCollectionNames = [
  'audit_head',
  'audit_block',
  'audit_checkpoint',
  'callback',
  'dead_callback',
] as const satisfies readonly (keyof EventCollections)[]

/**
 * Returns the order of the next event of a session after `last`: the time, or `last` + 1 when the clock was set back,
 * so that the order of events never changes.
 */
export function nextEventOrder(now: Date, last: number): number {
  return Math.max(now.getTime(), last + 1)
}

/**
 * Creates the change that records an event. The caller commits it in the batch of the cause. `order` is the position
 * among the events of the session, from {@link nextEventOrder}; the time of the event when absent.
 */
export function makeEventChange(
  { order, ...event }: Event & { readonly order?: number },
  random: (bytes: number) => Uint8Array,
): Change<EventCollections> {
  const dueAt = new Date(order ?? event.at)
  return { insert: 'event', id: makeTimeOrderedId(event.at, random(10)), value: event, dueAt }
}
