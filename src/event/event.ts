/**
 * Events of a service: administrative acts, and changes of sessions that an application may want to know. An event is
 * written in the batch of its cause, and moved from there into the audit log and to the callback.
 */

import type { AuditCollections } from '../audit/collections.ts'
import type { CallbackCollections } from '../callback/queue.ts'
import type { JsonObject } from '../codec/json.ts'
import type { TraceHeaders } from '../codec/trace-context.ts'
import type { Change } from '../store/store.ts'
import { makeTimeOrderedId } from '../store/time-ordered-id.ts'

/** Every type of event, and whether the callback reports it; all of them go into the audit log. */
export const carriedByCallback = {
  'audit.read': false,
  'callback.redelivered': false,
  'configuration.created': false,
  'configuration.removed': false,
  'issuance.started': false,
  'issuance.succeeded': true,
  'issuance.deferred': true,
  'issuance.completed': false,
  'issuance.denied': false,
  'issuance.notified': true,
  'issuance.expired': true,
  'credential.revoked': true,
  'credential.suspended': true,
  'credential.reinstated': true,
  'database.restored': false,
  'query.created': false,
  'status-list.unknown-revoked': false,
  'presentation.verified': false,
  'verification.started': false,
  'verification.succeeded': true,
  'verification.failed': true,
  'verification.declined': true,
  'verification.expired': true,
} as const

export type EventType = keyof typeof carriedByCallback

export interface Event {
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The position among the events of the session, from {@link nextEventOrder}; `at` for the first or only event. */
  readonly order?: number
  readonly sessionId?: string
  /** The id of the configuration, query, callback, status list or generation of the event. */
  readonly subject?: string
  /** The label of the API key of the caller. */
  readonly caller?: string
  /** The status body of the session at the time of the event, for the callback, when it cannot be made later. */
  readonly data?: JsonObject
  /** The place in the trace of what caused the event; only where there are traces. */
  readonly trace?: TraceHeaders
}

/** The collections of events and of their destinations. */
export type EventCollections = AuditCollections &
  CallbackCollections & {
    /** The events by id; a row is deleted when the event is in the audit log. */
    event: Event
  }

/** The names of the collections apart from `event`, which is older. */
export const eventCollectionNames = [
  'audit_head',
  'audit_block',
  'audit_checkpoint',
  'callback',
  'dead_callback',
] as const satisfies readonly (keyof EventCollections)[]

/**
 * Returns the order of the next event of a session after `last`: the time, or `last` + 1 when the clock was set back,
 * so that events of a session never change places.
 */
export function nextEventOrder(now: Date, last: number): number {
  return Math.max(now.getTime(), last + 1)
}

/** Creates the change that records an event, for the batch of its cause. */
export function recordEvent(event: Event, random: (bytes: number) => Uint8Array): Change<EventCollections> {
  const dueAt = new Date(event.order ?? event.at)
  return { insert: 'event', id: makeTimeOrderedId(event.at, random(10)), value: event, dueAt }
}
