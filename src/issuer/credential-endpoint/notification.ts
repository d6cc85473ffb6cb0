/** What became of credentials, by the word of the wallet. OpenID4VCI 1.0, Notification Endpoint. */
import { createHmac, type KeyObject } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { isSameSecret } from '../../codec/digest.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'
import { refuse } from '../../protocol/error.ts'
import type { NotificationRequest } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import { isNotified, recordNotification } from '../session.ts'
import { sessionEvent } from '../session-event.ts'
import type { OpenSession } from '../token-endpoint/access-token.ts'
import { changeSession } from './session-change.ts'

const PLACE_BYTES = 2
const MAC_BYTES = 16

/**
 * The id of what a request was given, which stands at `place` in the session. It carries the place and a MAC over it and the
 * session, so that nothing is stored for the wallets that never say anything.
 */
export function notificationId([secret]: Secrets, sessionId: string, place: number): string {
  return idUnder(secret, sessionId, place)
}

function idUnder(secret: KeyObject, sessionId: string, place: number): string {
  const body = Buffer.alloc(PLACE_BYTES)
  body.writeUIntBE(place, 0, PLACE_BYTES)
  const mac = createHmac('sha256', secret).update(body).update(sessionId).digest()
  return toBase64url(Buffer.concat([body, mac.subarray(0, MAC_BYTES)]))
}

/**
 * Records what the wallet says of credentials of its session; the same again changes nothing. `sessionId` is the session
 * of the path, where there is one. Refuses with `invalid_token` the token of another session, with `invalid_notification_id`
 * an id that was not given in this one.
 */
export async function notify(
  context: IssuerContext,
  open: OpenSession,
  notification: NotificationRequest,
  sessionId: string | undefined,
): Promise<void> {
  if (sessionId !== undefined && sessionId !== open.sessionId) {
    refuse('invalid_token', 'the access token is of another session than the path')
  }
  const place = placeOf(context, open, notification.notification_id)
  const { event, event_description: description } = notification
  const at = context.now()
  const status = await context.store.get('credential_status', open.sessionId)
  await changeSession(context, open, (session) => {
    if (isNotified(session, place, event)) return undefined
    const next = recordNotification(session, place, { event, at: at.getTime(), ...(description && { description }) })
    const changed = { sessionId: open.sessionId, session: next, now: at, status: status?.value }
    const notified = sessionEvent(context, 'issuance.notified', changed)
    return { value: notified.value, also: [notified.event] }
  })
}

function placeOf({ secrets }: IssuerContext, { sessionId, session }: OpenSession, id: string): number {
  const bytes = orUndefined(() => fromBase64url(id))
  const place = bytes?.length === PLACE_BYTES + MAC_BYTES ? bytes.readUIntBE(0, PLACE_BYTES) : undefined
  const isOurs =
    place !== undefined &&
    session.issued[place] !== undefined &&
    secrets.notification.some((secret) => isSameSecret(idUnder(secret, sessionId, place), id))
  if (!isOurs) {
    return refuse('invalid_notification_id', 'there is no such notification_id; send that of the credential response')
  }
  return place
}
