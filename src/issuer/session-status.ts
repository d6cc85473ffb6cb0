/**
 * The status of an issuance session for the application: the response of the status endpoint, and the body of events.
 */
import type { Static } from 'typebox'
import { type Json, type JsonObject, memberOf } from '../codec/json.ts'
import { epochSeconds } from '../codec/time.ts'
import { type Event, type EventType, makeEventChange, nextEventOrder } from '../event/event.ts'
import { problemMembers } from '../progress/problem-members.ts'
import type { SessionProgress } from '../progress/session-progress.ts'
import type { Change } from '../store/store.ts'
import { type IssuerCollections, requireIssuanceSession } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { endOfSession, type IssuanceSession, issuanceStatus, removeFreeText } from './session.ts'
import type { IssuanceSessionStatus } from './session-schema.ts'
import type { CredentialStatus } from './status-rows.ts'

/** The status, with the type of the OpenAPI document. */
export type IssuanceStatusBody = Static<typeof IssuanceSessionStatus>

/** Returns the status of a session. Refuses with `not_found`. */
export async function getIssuanceStatus(context: IssuerContext, sessionId: string): Promise<IssuanceStatusBody> {
  const session = await requireIssuanceSession(context.store, sessionId)
  const row = session.issued.length > 0 ? await context.store.get('credential_status', sessionId) : undefined
  const body = makeStatusBody(sessionId, session, context.now(), row?.value)
  return addProgress(body, await context.progress.read(sessionId))
}

/** Adds the wallet's progress to a status. Members of the status itself take precedence. */
export function addProgress<T extends JsonObject | IssuanceStatusBody>(body: T, progress: SessionProgress): T {
  return {
    ...body,
    ...(!Object.hasOwn(body, 'offer_fetched_at') && fetchedMember(progress.offerFetchedAt)),
    ...problemMembers(progress),
  }
}

function fetchedMember(at: number | undefined) {
  return at === undefined ? {} : { offer_fetched_at: epochSeconds(at) }
}

/** Makes the status of a session. Without `status`, none of its credentials has been revoked or suspended. */
export function makeStatusBody(
  sessionId: string,
  session: IssuanceSession,
  now: Date,
  status?: CredentialStatus,
): IssuanceStatusBody {
  const idsWithEntry = new Set(status?.entries.map(({ configurationId }) => configurationId))
  return {
    session_id: sessionId,
    status: issuanceStatus(session, now),
    created_at: epochSeconds(session.createdAt),
    expires_at: epochSeconds(endOfSession(session)),
    ...(session.refresh && { refresh_until: epochSeconds(session.refresh.until) }),
    ...fetchedMember(session.offerFetchedAt),
    ...(session.erasedAt === undefined ? {} : { erased_at: epochSeconds(session.erasedAt) }),
    credential_configurations: [...session.configurationIds],
    // Has an element for each credential, in the order of issuance.
    credentials: session.issued.flatMap(({ configurationId, issuedAt, count = 1 }) =>
      Array.from({ length: count }, () => ({
        credential_configuration_id: configurationId,
        issued_at: epochSeconds(issuedAt),
        credential_status: status !== undefined && idsWithEntry.has(configurationId) ? status.state : 'VALID',
      })),
    ),
    ...(status?.seenBy === undefined ? {} : { credential_status_seen_by: Math.ceil(status.seenBy / 1000) }),
    ...deferralOf(session),
    ...notificationsOf(session),
  }
}

/**
 * Adds the `event_description` of each notification to the body of an event, if the session still has it. Events are
 * stored without these texts.
 */
export function addNotificationTexts(body: JsonObject, session: IssuanceSession): JsonObject {
  const storedNotifications = memberOf(body, 'notifications')
  if (!Array.isArray(storedNotifications)) return body
  const completeNotifications = [...(notificationsOf(session).notifications ?? [])]
  const notifications = storedNotifications.map((each) => {
    const at = completeNotifications.findIndex(
      (other) => JSON.stringify({ ...other, event_description: undefined }) === JSON.stringify(each),
    )
    // Each notification is used once, since two may differ only in their texts.
    return at < 0 ? each : completeNotifications.splice(at, 1)[0]
  })
  return { ...body, notifications: notifications as Json[] }
}

/** Returns the notifications of the wallet as a member; empty if there are none. */
function notificationsOf({ issued }: IssuanceSession) {
  const notifications = issued.flatMap(({ configurationId, notifications: ofBatch = [] }) =>
    ofBatch.map(({ event, at, description }) => ({
      credential_configuration_id: configurationId,
      event,
      ...(description === undefined ? {} : { event_description: description }),
      notified_at: epochSeconds(at),
    })),
  )
  return notifications.length === 0 ? {} : { notifications }
}

/** Returns the application's decision as a member; empty for a session that was started with its dataset. */
function deferralOf({ deferral }: IssuanceSession) {
  if (deferral === undefined) return {}
  const { decided, waiting } = deferral
  const state = decided === undefined ? 'PENDING' : decided.denied === undefined ? 'COMPLETED' : 'DENIED'
  const at = decided === undefined ? {} : { decided_at: epochSeconds(decided.at) }
  return { deferred: { state, waiting_requests: waiting.length, ...at } as const }
}

/** A session in its new state, for an event. */
export interface ChangedSession extends Pick<Event, 'caller'> {
  readonly sessionId: string
  readonly session: IssuanceSession
  readonly now: Date
  /** The status of the session's credentials; absent if none has been revoked or suspended. */
  readonly status?: CredentialStatus | undefined
}

/**
 * Returns the session with the recorded event, and the change that inserts the event, for one batch. The body of the
 * event may be stored for longer than the session's data, so it has no free text of wallets; {@link
 * addNotificationTexts} adds that when the event is sent.
 */
export function makeSessionEvent(
  { random }: Pick<IssuerContext, 'random'>,
  type: EventType,
  { sessionId, session, now, status, ...callerMember }: ChangedSession,
): { readonly value: IssuanceSession & { readonly lastEvent: number }; readonly event: Change<IssuerCollections> } {
  const data = makeStatusBody(sessionId, removeFreeText(session), now, status)
  const order = nextEventOrder(now, Math.max(session.lastEvent ?? session.createdAt, status?.lastEvent ?? 0))
  const event = makeEventChange({ type, at: now.getTime(), order, sessionId, ...callerMember, data }, random)
  return { value: { ...session, lastEvent: order }, event }
}
