/**
 * What happened in a service: each administrative act, and each change of a session that somebody may want to hear of. It
 * is written in the transaction that makes it so, and taken from there into the audit log and to the callback.
 */
import type { AuditCollections } from '../audit/collections.ts'
import type { CallbackCollections } from '../callback/queue.ts'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import type { Change } from '../store/store.ts'

/** Every kind of event, and whether the callback tells the application of it; all of them go into the audit log. */
export const carriedByCallback = {
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
  'query.created': false,
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
  /** The place among the events of the session, which {@link eventOrder} gives; `at` where it is the only one, or the first. */
  readonly order?: number
  readonly sessionId?: string
  /** The id of the configuration or the query that it is about. */
  readonly subject?: string
  /** The label of the API key of whoever did it. */
  readonly caller?: string
  /** The status body of the session as it then was, for the callback, where it cannot be had from the session later. */
  readonly data?: JsonObject
}

/** Those of an event, and those that it goes on to. */
export type EventCollections = AuditCollections &
  CallbackCollections & {
    /** By id; a row is taken away as soon as it is in the audit log. */
    event: Event
  }

/** All but `event`, which was there before them. */
export const collectionsOfEvents = [
  'audit_head',
  'audit_block',
  'audit_checkpoint',
  'callback',
  'dead_callback',
] as const satisfies readonly (keyof EventCollections)[]

/**
 * The order of the next event of a session whose last one had `last`: its time, or one more than `last` where the clock was set back, so
 * that events of a session never change places.
 */
export function eventOrder(now: Date, last: number): number {
  return Math.max(now.getTime(), last + 1)
}

/** The change that records an event, for the batch of what it is about. */
export function recorded(event: Event, random: (bytes: number) => Uint8Array): Change<EventCollections> {
  const dueAt = new Date(event.order ?? event.at)
  return { insert: 'event', id: toBase64url(random(16)), value: event, dueAt }
}
