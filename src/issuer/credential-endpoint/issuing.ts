/**
 * Issuing: keys become orders, orders become credentials, and what has been issued is recorded in one batch in the store
 * together with what the request spends. Nothing leaves that is not recorded.
 */
import { type JsonObject, own } from '../../codec/json.ts'
import type { Order } from '../../credential/format.ts'
import type { JweParameters } from '../../keys/jwe.ts'
import type { PublicJwk } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialResponse } from '../../protocol/oid4vci.ts'
import { formatOfConfiguration } from '../configurations.ts'
import type { IssuerContext } from '../context.ts'
import { datasetPart } from '../dataset.ts'
import { type IssuanceSession, recordIssued } from '../session.ts'
import { sessionEvent } from '../session-event.ts'
import { entriesFor, keptEntries, statusOfEntry, validStatus } from '../status-list/issued.ts'
import type { OpenSession } from '../token-endpoint/access-token.ts'
import { inTurn } from './batch.ts'
import { notificationId } from './notification.ts'
import { changeSession, type Spending } from './session-change.ts'

/** What a request has been found good for: a credential for each of the keys. */
export interface Granted {
  readonly configurationId: string
  readonly configuration: JsonObject
  readonly holderKeys: readonly PublicJwk[]
  readonly now: Date
  /** Asked for as drafts up to 14 had it: should it have to wait, its response is one of theirs as well. */
  readonly wantsSingle?: true
  /** How the response is encrypted, where it is. */
  readonly encryption?: JweParameters
}

const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * The response with the credentials, in the order of their keys, once they are recorded. `before` is the effect of the
 * spending on the session, before anything is issued in it. Refuses with `credential_request_denied` more copies than a
 * session gives out, and like {@link changeSession}.
 */
export async function issueCredentials(
  context: IssuerContext,
  open: OpenSession,
  granted: Granted,
  {
    spending,
    before = (session) => session,
  }: { readonly spending: Spending; readonly before?: (session: IssuanceSession) => IssuanceSession },
): Promise<CredentialResponse> {
  const issued = { configurationId: granted.configurationId, count: granted.holderKeys.length, at: granted.now }
  // Refuses before anything is signed; what it gives is made again with the session as it is then.
  recordIssued(before(open.session), issued)
  if (open.session.issued.length > 0) await validStatus(context.store, open.sessionId)
  const dataset = await datasetOf(context, open, granted.configuration)
  const entries = await entriesFor(context, granted.configuration, granted.holderKeys.length)
  const orders = granted.holderKeys.map((holderKey, index) => {
    const status = statusOfEntry(context, granted.configuration, entries[index])
    return orderOf(context, granted, { dataset, holderKey, ...status })
  })
  const credentials = await inTurn(orders, (order) => issueChecked(context, order))
  const { sessionId } = open
  const { configurationId } = granted
  const changed = await changeSession(
    context,
    open,
    async (session) => {
      const next = recordIssued(before(session), issued)
      const isFirst = session.issued.length === 0
      const kept = await keptEntries(context, sessionId, { configurationId, entries, isFirst })
      if (!isFirst) return { value: next, also: kept }
      const succeeded = sessionEvent(context, 'issuance.succeeded', { sessionId, session: next, now: granted.now })
      return { value: succeeded.value, also: [...kept, succeeded.event] }
    },
    spending,
  )
  return {
    credentials: credentials.map((credential) => ({ credential })),
    notification_id: notificationId(context.secrets.notification, open.sessionId, changed.issued.length - 1),
  }
}

/** The part of the session's dataset that is for the format of the configuration. */
async function datasetOf(
  { store, configuration: configurationOf }: IssuerContext,
  { sessionId, session }: OpenSession,
  configuration: JsonObject,
): Promise<JsonObject> {
  const row = await store.get('issuance_dataset', sessionId)
  const dataset = row?.value ?? refuse('credential_request_denied', 'the data of this session is gone; start a new one')
  if (session.configurationIds.length === 1) return dataset
  const all = await Promise.all(session.configurationIds.map(configurationOf))
  const formats = all.filter((each) => each !== undefined).map(formatOfConfiguration)
  const part = datasetPart(dataset, formatOfConfiguration(configuration), formats)
  // A session of an earlier release shared the whole dataset, and may have no part for each format.
  return Object.keys(part).length === 0 ? dataset : part
}

/**
 * The issue time is rounded down and the expiry up, so that two credentials of one dataset cannot be told apart by
 * their clock, and neither is shorter than it was declared. RFC 9901 section 10.1. Nothing is dated before the certificate
 * that it is signed with, which may be younger than the hour. ISO/IEC 18013-5 section 9.3.1.
 */
function orderOf(
  { config }: IssuerContext,
  { configuration, now }: Granted,
  filled: Pick<Order, 'dataset' | 'holderKey' | 'status'>,
): Order {
  const validity = (own(configuration, 'validity_seconds') as number | undefined) ?? YEAR_SECONDS
  const grain = 1000 * (validity >= 86_400 ? 3600 : validity >= 600 ? 60 : 1)
  const certified = Math.min(config.keys.signing.chain[0]?.notBefore.getTime() ?? 0, now.getTime())
  return {
    configuration,
    ...filled,
    issuer: config.issuer.id,
    issuedAt: new Date(Math.max(Math.floor(now.getTime() / grain) * grain, certified)),
    expiresAt: new Date(Math.ceil((now.getTime() + validity * 1000) / grain) * grain),
  }
}

/** Nothing leaves that does not read back, by the wallet's own rules, as what was ordered. */
async function issueChecked({ keys, random }: IssuerContext, order: Order): Promise<string> {
  const format = formatOfConfiguration(order.configuration)
  const credential = await format.issue(order, keys.credentials, random)
  if (!format.fulfils(order, credential)) throw new Error('the credential does not read back as it was ordered')
  return credential
}
