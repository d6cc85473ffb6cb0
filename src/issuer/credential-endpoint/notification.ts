/** Notifications: a wallet reports what it did with its credentials. OpenID4VCI 1.0, Notification Endpoint. */
import { readMacToken, writeMacToken } from '../../codec/mac-token.ts'
import { plainAscii, refuse } from '../../protocol/error.ts'
import type { NotificationRequest } from '../../protocol/oid4vci.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { IssuerContext } from '../context.ts'
import { hasMaxNotifications, isNotified, recordNotification } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'

/** The size of the position in a notification_id. */
const POSITION_BYTES = 2

/**
 * Makes the notification_id of the batch at `position` in `issued`. It consists of the position and a MAC over the
 * position and the session id, so it is not stored.
 */
export function makeNotificationId(
  { secrets }: { readonly secrets: Pick<IssuerContext['secrets'], 'notification'> },
  sessionId: string,
  position: number,
): string {
  const body = Buffer.alloc(POSITION_BYTES)
  body.writeUIntBE(position, 0, POSITION_BYTES)
  return writeMacToken(secrets.notification[0], body, sessionId)
}

/** The number of characters of an `event_description` that are kept. */
const MAX_DESCRIPTION = 500

/**
 * Records a notification of a wallet. A repeated notification changes nothing, nor does one of a session that has
 * as many as are recorded. `sessionId` is the session in the path, if any. Refuses with `invalid_token` a token of
 * another session, and with `invalid_notification_id` an id of another session or an unknown one.
 */
export async function receiveNotification(
  context: IssuerContext,
  openSession: OpenSession,
  notification: NotificationRequest,
  sessionId: string | undefined,
): Promise<void> {
  if (sessionId !== undefined && sessionId !== openSession.sessionId) {
    refuse('invalid_token', 'the access token is of another session than the path')
  }
  const position = requirePosition(context, openSession, notification.notification_id)
  const { event, event_description: description } = notification
  const at = context.now()
  await changeSession(context, openSession, async (session) => {
    if (isNotified(session, position, event) || hasMaxNotifications(session)) return undefined
    const status = await context.store.get('credential_status', openSession.sessionId)
    const notifiedSession = recordNotification(session, position, {
      event,
      at: at.getTime(),
      ...(description && { description: plainAscii(description.slice(0, MAX_DESCRIPTION)) }),
    })
    const changedSession = {
      sessionId: openSession.sessionId,
      session: notifiedSession,
      now: at,
      status: status?.value,
    }
    const update = makeSessionEvent(context, 'issuance.notified', changedSession)
    return { value: update.value, otherChanges: [update.event] }
  })
}

function requirePosition({ secrets }: IssuerContext, { sessionId, row }: OpenSession, id: string): number {
  const position = readMacToken(secrets.notification, id, POSITION_BYTES, sessionId)?.readUIntBE(0, POSITION_BYTES)
  if (position === undefined || row.value.issued[position] === undefined) {
    return refuse('invalid_notification_id', 'there is no such notification_id; send that of the credential response')
  }
  return position
}
