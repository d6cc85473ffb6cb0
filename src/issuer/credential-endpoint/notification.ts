/** Notifications: a wallet reports what it did with its credentials. OpenID4VCI 1.0, Notification Endpoint. */
import { fromBase64url } from '../../codec/base64url.ts'
import { isSameSecret } from '../../codec/digest.ts'
import { orUndefined } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import type { NotificationRequest } from '../../protocol/oid4vci.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { IssuerContext } from '../context.ts'
import { isNotified, recordNotification } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import { makeNotificationId, readNotificationPosition } from './issuing.ts'

/**
 * Records a notification of a wallet. A repeated notification changes nothing. `sessionId` is the session in the path,
 * if any. Refuses with `invalid_token` a token of another session, and with `invalid_notification_id` an id of another
 * session or an unknown one.
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
  const position = findPosition(context, openSession, notification.notification_id)
  const { event, event_description: description } = notification
  const at = context.now()
  const status = await context.store.get('credential_status', openSession.sessionId)
  await changeSession(context, openSession, (session) => {
    if (isNotified(session, position, event)) return undefined
    const notifiedSession = recordNotification(session, position, {
      event,
      at: at.getTime(),
      ...(description && { description }),
    })
    const changedSession = {
      sessionId: openSession.sessionId,
      session: notifiedSession,
      now: at,
      status: status?.value,
    }
    const update = makeSessionEvent(context, 'issuance.notified', changedSession)
    return { value: update.value, extraChanges: [update.event] }
  })
}

function findPosition({ secrets }: IssuerContext, { sessionId, row }: OpenSession, id: string): number {
  const position = readNotificationPosition(orUndefined(() => fromBase64url(id)))
  const isOurs =
    position !== undefined &&
    row.value.issued[position] !== undefined &&
    secrets.notification.some((secret) => isSameSecret(makeNotificationId(secret, sessionId, position), id))
  if (!isOurs) {
    return refuse('invalid_notification_id', 'there is no such notification_id; send that of the credential response')
  }
  return position
}
