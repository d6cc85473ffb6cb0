/**
 * Issuing: keys become orders, orders become credentials, and what has been issued is recorded in one batch in the
 * store together with what the request spends. Nothing leaves that is not recorded.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { runInTurn } from '../../async/concurrency.ts'
import { toBase64url } from '../../codec/base64url.ts'
import type { JsonObject } from '../../codec/json.ts'
import type { Configuration, Order } from '../../credential/format.ts'
import type { PublicJwk } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialResponse } from '../../protocol/oid4vci.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { SingleUse } from '../access/single-use.ts'
import type { IssuerContext } from '../context.ts'
import { datasetPart } from '../dataset.ts'
import { type IssuanceSession, recordIssued } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import {
  allocateStatusEntries,
  makeEntryChanges,
  requireValidStatus,
  statusOfEntry,
} from '../status-list/issued-entries.ts'

/** The credentials that a request gets: one of the configuration for each of the keys. */
export interface CredentialGrant {
  readonly configurationId: string
  readonly configuration: Configuration
  readonly holderKeys: readonly PublicJwk[]
  readonly now: Date
}

/** The spending of a request, and its effect on the session, before anything is issued in the session. */
interface GrantEffects {
  readonly singleUse: SingleUse
  readonly prepareSession?: (session: IssuanceSession) => IssuanceSession
}

/** The time that a wallet waits before it asks again for credentials that come later. */
const INTERVAL_SECONDS = 5
/** The bytes of a notification_id. */
const POSITION_BYTES = 2
const MAC_BYTES = 16

/**
 * Returns the response with the credentials, in the order of their keys, once they are recorded. Refuses with
 * `credential_request_denied` more copies than a session gives out, and like {@link changeSession}.
 */
export async function issueCredentials(
  context: IssuerContext,
  openSession: OpenSession,
  grant: CredentialGrant,
  { singleUse, prepareSession = (session) => session }: GrantEffects,
): Promise<CredentialResponse> {
  const { configurationId, configuration, holderKeys, now } = grant
  const copy = { configurationId, count: holderKeys.length, at: now }
  // This call only refuses before anything is signed; `record` records the copy in the current session.
  recordIssued(prepareSession(openSession.row.value), copy)
  if (openSession.row.value.issued.length > 0) await requireValidStatus(context.store, openSession.sessionId)
  const dataset = await loadDataset(context, openSession, configuration)
  const entries = await allocateStatusEntries(context, configuration, holderKeys.length)
  const orders = holderKeys.map((holderKey, index) => {
    const status = statusOfEntry(context, configuration, entries[index])
    return orderOf(context, grant, { dataset, holderKey, ...status })
  })
  const credentials = await runInTurn(orders, (order) => issueAndCheck(context, order))
  const { sessionId } = openSession
  const record = async (session: IssuanceSession) => {
    refuseDenied(session)
    const issuedSession = recordIssued(prepareSession(session), copy)
    const isFirst = session.issued.length === 0
    const entryChanges = await makeEntryChanges(context, sessionId, { configurationId, entries, isFirst })
    if (!isFirst) return { value: issuedSession, extraChanges: entryChanges }
    const update = makeSessionEvent(context, 'issuance.succeeded', { sessionId, session: issuedSession, now })
    return { value: update.value, extraChanges: [...entryChanges, update.event] }
  }
  const recordedSession = await changeSession(context, openSession, record, [singleUse])
  return {
    credentials: credentials.map((credential) => ({ credential })),
    notification_id: makeNotificationId(context.secrets.notification[0], sessionId, recordedSession.issued.length - 1),
  }
}

/** Returns the response to a request whose credentials come later. OpenID4VCI 1.0, Credential Response. */
export function makeDeferredResponse(transactionId: string): CredentialResponse {
  return { transaction_id: transactionId, interval: INTERVAL_SECONDS }
}

/**
 * Refuses a denied session with `credential_request_denied`. The wallet gets the application's reason, which the log
 * does not have.
 */
export function refuseDenied({ deferral }: IssuanceSession): void {
  const { denied } = deferral?.decided ?? {}
  if (denied === undefined) return
  const members = denied.reason === undefined ? {} : { error_description: denied.reason }
  refuse('credential_request_denied', 'the issuer has decided not to issue this credential', { members })
}

/**
 * Returns the notification_id of the copy at `position` in the session. The id carries the position and a MAC over the
 * position and the session, so that nothing is stored for the wallets that never notify.
 */
export function makeNotificationId(secret: KeyObject, sessionId: string, position: number): string {
  const body = Buffer.alloc(POSITION_BYTES)
  body.writeUIntBE(position, 0, POSITION_BYTES)
  const mac = createHmac('sha256', secret).update(body).update(sessionId).digest()
  return toBase64url(Buffer.concat([body, mac.subarray(0, MAC_BYTES)]))
}

/** Returns the position that a notification_id claims; undefined when its length is another. */
export function readNotificationPosition(bytes: Buffer | undefined): number | undefined {
  return bytes?.length === POSITION_BYTES + MAC_BYTES ? bytes.readUIntBE(0, POSITION_BYTES) : undefined
}

/** Returns the part of the session's dataset that is for the format of the configuration. */
async function loadDataset(
  { store, loadConfiguration }: IssuerContext,
  { sessionId, row: { value: session } }: OpenSession,
  { format }: Configuration,
): Promise<JsonObject> {
  const row = await store.get('issuance_dataset', sessionId)
  const dataset = row?.value ?? refuse('credential_request_denied', 'the data of this session is gone; start a new one')
  if (session.configurationIds.length === 1) return dataset
  const configurations = await Promise.all(session.configurationIds.map(loadConfiguration))
  const formats = configurations.flatMap((each) => each?.format ?? [])
  const part = datasetPart(dataset, format, formats)
  // A session of an earlier release shared the whole dataset, and may have no part for each format.
  return Object.keys(part).length === 0 ? dataset : part
}

/**
 * Makes the order. The issue time is rounded down and the expiry up, so that two credentials of one dataset cannot be
 * told apart by their clock, and neither is shorter than it was declared. RFC 9901 section 10.1. Nothing is dated
 * before the certificate that it is signed with, which may be younger than the hour. ISO/IEC 18013-5 section 9.3.1.
 */
function orderOf(
  { config }: IssuerContext,
  { configuration, now }: CredentialGrant,
  orderContent: Pick<Order, 'dataset' | 'holderKey' | 'status'>,
): Order {
  const { validitySeconds: validity } = configuration
  const grain = 1000 * (validity >= 86_400 ? 3600 : validity >= 600 ? 60 : 1)
  const certifiedSince = Math.min(config.keys.signing.chain[0].notBefore.getTime(), now.getTime())
  return {
    configuration,
    ...orderContent,
    issuer: config.issuer.id,
    issuedAt: new Date(Math.max(Math.floor(now.getTime() / grain) * grain, certifiedSince)),
    expiresAt: new Date(Math.ceil((now.getTime() + validity * 1000) / grain) * grain),
  }
}

/** Issues a credential, and throws unless the credential reads back, by the rules of a wallet, as it was ordered. */
async function issueAndCheck({ keys, random }: IssuerContext, order: Order): Promise<string> {
  const { format } = order.configuration
  const credential = await format.issue(order, keys.credentials, random)
  if (!format.fulfils(order, credential)) throw new Error('the credential does not read back as it was ordered')
  return credential
}
