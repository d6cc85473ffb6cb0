/** What became of an issuance session, as an event with its status: for the batch that makes it so. */
import { type Event, type EventType, eventOrder, recorded } from '../event/event.ts'
import type { Change } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { type IssuanceSession, withoutWords } from './session.ts'
import { statusBody } from './session-status.ts'
import type { CredentialStatus } from './status-list/rows.ts'

/** A session as it is from now on. */
export interface ChangedSession extends Pick<Event, 'caller'> {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly now: Date
  /** Of its credentials; absent: none of them has been revoked or suspended. */
  readonly status?: CredentialStatus | undefined
}

/**
 * The session as it is once the event is recorded, and the change that records it: for one batch. The body of the event waits outside of the
 * session and may outlive what is erased of it: without what wallets said in words of their own, which `withWords` puts in when the
 * event is sent.
 */
export function sessionEvent(
  { random }: Pick<IssuerContext, 'random'>,
  type: EventType,
  { sessionId, session, now, status, ...by }: ChangedSession,
): { readonly value: IssuanceSession; readonly event: Change<IssuerCollections> } {
  const data = statusBody(sessionId, withoutWords(session), now, status)
  const order = eventOrder(now, Math.max(session.lastEvent ?? session.createdAt, status?.lastEvent ?? 0))
  const event = recorded({ type, at: now.getTime(), order, sessionId, ...by, data }, random)
  return { value: { ...session, lastEvent: order }, event }
}
