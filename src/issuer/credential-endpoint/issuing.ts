/**
 * Issues credentials: makes an order for each key, issues each order, and records the credentials in one batch that
 * also marks nonces and proofs as used. A credential is sent only after that batch is committed.
 */
import { runInTurn } from '../../async/concurrency.ts'
import { isObject, type JsonObject } from '../../codec/json.ts'
import { refuseEndedCertificate } from '../../config/certificate-end.ts'
import type { Order } from '../../credential/format.ts'
import type { PublicJwk } from '../../keys/jwk.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialResponse } from '../../protocol/oid4vci.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { SingleUse } from '../access/single-use.ts'
import type { IssuerContext, LoadedConfiguration } from '../context.ts'
import { datasetPart } from '../dataset.ts'
import { type IssuanceSession, recordIssued, refuseOverLimits } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import { makeEntryChanges, refuseUnlessValid, statusOfEntry } from '../status-list/entries.ts'
import { makeNotificationId } from './notification.ts'

/** The credentials to issue: one of the configuration for each key. */
export interface CredentialsToIssue {
  readonly configuration: LoadedConfiguration
  readonly holderKeys: readonly PublicJwk[]
  /** The DIDs by which the wallet named keys, by the thumbprint of the key. */
  readonly holderDids: Readonly<Record<string, string>>
  readonly now: Date
}

/** The single use of the request, and the change of the session that precedes issuing. */
interface IssuanceCommit {
  readonly singleUse: SingleUse
  readonly prepareSession?: (session: IssuanceSession) => IssuanceSession
}

/** The `interval` of deferred responses: how long a wallet waits before it asks again. */
const INTERVAL_SECONDS = 5

/**
 * Issues and records the credentials, and returns the response with a credential for each key, in that order. Refuses
 * like {@link refuseOverLimits}, {@link refuseEndedCertificate} and {@link changeSession}.
 */
export async function issueCredentials(
  context: IssuerContext,
  openSession: OpenSession,
  toIssue: CredentialsToIssue,
  { singleUse, prepareSession = (session) => session }: IssuanceCommit,
): Promise<CredentialResponse> {
  const { configuration, holderKeys, now } = toIssue
  const { id: configurationId } = configuration
  refuseEndedCertificate(context.config.keys, now)
  const batch = { configurationId, count: holderKeys.length, at: now }
  // Nothing is signed beyond the limits; `record` checks them again for the stored session.
  refuseOverLimits(prepareSession(openSession.row.value), batch)
  if (openSession.row.value.issued.length > 0)
    await refuseUnlessValid(context.store, openSession.sessionId, 'credential_request_denied')
  const dataset = await loadDataset(context, openSession, configuration)
  const entries = configuration.isRevocable ? await context.allocateEntries(holderKeys.length) : []
  const orders = holderKeys.map((holderKey, index) => {
    const status = statusOfEntry(context, configuration, entries[index])
    return orderOf(context, toIssue, { dataset, holderKey, ...status })
  })
  const credentials = await runInTurn(orders, (order) => issueAndCheck(context, order))
  const { sessionId } = openSession
  const record = async (session: IssuanceSession) => {
    refuseDenied(session)
    const issuedSession = recordIssued(prepareSession(session), batch)
    const isFirst = session.issued.length === 0
    const entryChanges = await makeEntryChanges(context, sessionId, { configurationId, entries, isFirst })
    if (!isFirst) return { value: issuedSession, otherChanges: entryChanges }
    const update = makeSessionEvent(context, 'issuance.succeeded', { sessionId, session: issuedSession, now })
    return { value: update.value, otherChanges: [...entryChanges, update.event] }
  }
  const recordedSession = await changeSession(context, openSession, record, singleUse)
  return {
    credentials: credentials.map((credential) => ({ credential })),
    notification_id: makeNotificationId(context, sessionId, recordedSession.issued.length - 1),
  }
}

/** Makes the response with a transaction id. OpenID4VCI 1.0, Credential Response. */
export function makeDeferredResponse(transactionId: string): CredentialResponse {
  return { transaction_id: transactionId, interval: INTERVAL_SECONDS }
}

/**
 * Refuses with `credential_request_denied` if the application denied the session. The wallet gets the application's
 * reason; the log does not.
 */
export function refuseDenied({ deferral }: IssuanceSession): void {
  const { denied } = deferral?.decided ?? {}
  if (denied === undefined) return
  const members = denied.reason === undefined ? {} : { error_description: denied.reason }
  refuse('credential_request_denied', 'the issuer has decided not to issue this credential', { members })
}

/** Returns the dataset of the configuration, or the part of the session's dataset for the format of it. */
async function loadDataset(
  { store, loadConfiguration }: IssuerContext,
  { sessionId, row: { value: session } }: OpenSession,
  { id, format }: LoadedConfiguration,
): Promise<JsonObject> {
  const row = await store.get('issuance_dataset', sessionId)
  const dataset = row?.value ?? refuseErased()
  if (!isObject(dataset)) {
    return dataset.find(({ configurationId }) => configurationId === id)?.dataset ?? refuseErased()
  }
  if (session.configurationIds.length === 1) return dataset
  const configurations = await Promise.all(session.configurationIds.map(loadConfiguration))
  const formats = configurations.flatMap((each) => each?.format ?? [])
  const part = datasetPart(dataset, format, formats)
  // A session of an earlier release used the whole dataset for each format.
  return Object.keys(part).length === 0 ? dataset : part
}

function refuseErased(): never {
  return refuse('credential_request_denied', 'the data of this session is gone; ask for a new offer')
}

/**
 * Makes the order for a credential. Rounds the issue time down and the expiry up, so that the times do not link two
 * credentials (RFC 9901 section 10.1), and the validity is not shorter than configured. But neither time is outside of
 * the validity of the signing certificate (ISO/IEC 18013-5 section 9.3.1): the credential carries that certificate, so
 * that verifiers refuse it from the end of the certificate on.
 */
function orderOf(
  { config }: IssuerContext,
  { configuration, holderDids, now }: CredentialsToIssue,
  orderContent: Pick<Order, 'dataset' | 'holderKey' | 'status'>,
): Order {
  const { validitySeconds } = configuration
  const roundingMs = roundingMsOf(validitySeconds)
  const [{ notBefore, notAfter }] = config.keys.signing.chain
  const certifiedSince = Math.min(notBefore.getTime(), now.getTime())
  const expiresAt = Math.ceil((now.getTime() + validitySeconds * 1000) / roundingMs) * roundingMs
  return {
    configuration,
    ...orderContent,
    holderDids,
    issuer: config.issuer.id,
    issuedAt: new Date(Math.max(Math.floor(now.getTime() / roundingMs) * roundingMs, certifiedSince)),
    expiresAt: new Date(Math.min(expiresAt, notAfter.getTime())),
  }
}

/** Returns what the times are rounded to: the hour from a day of validity on, the minute from ten minutes on. */
function roundingMsOf(validitySeconds: number): number {
  if (validitySeconds >= 86_400) return 3_600_000
  return validitySeconds >= 600 ? 60_000 : 1000
}

/** Issues a credential. Throws if the credential, read as a wallet reads it, does not match the order. */
async function issueAndCheck({ keys, random }: IssuerContext, order: Order): Promise<string> {
  const { format } = order.configuration
  const credential = await format.issue(order, keys.credentialSigner, random)
  if (!format.matchesOrder(order, credential)) throw new Error('the credential does not read back as it was ordered')
  return credential
}
