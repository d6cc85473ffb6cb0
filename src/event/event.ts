/**
 * What happened in a service: each administrative act, and each change of a session that somebody may want to hear of. It
 * is written in the transaction that makes it so, and taken from there into the audit log and to the callback.
 */
import type { AuditCollections } from '../audit/collections.ts'
import type { CallbackCollections } from '../callback/queue.ts'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import type { Change } from '../store/store.ts'

export type EventType =
  | 'configuration.created'
  | 'configuration.removed'
  | 'issuance.started'
  | 'issuance.succeeded'
  | 'issuance.deferred'
  | 'issuance.completed'
  | 'issuance.denied'
  | 'issuance.notified'
  | 'issuance.expired'
  | 'credential.revoked'
  | 'credential.suspended'
  | 'credential.reinstated'
  | 'query.created'
  | 'verification.started'
  | 'presentation.verified'
  | 'verification.succeeded'
  | 'verification.failed'
  | 'verification.declined'
  | 'verification.expired'

export interface Event {
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
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

/** The change that records an event, for the batch of what it is about. */
export function recorded(event: Event, random: (bytes: number) => Uint8Array): Change<EventCollections> {
  return { insert: 'event', id: toBase64url(random(16)), value: event, dueAt: new Date(event.at) }
}
