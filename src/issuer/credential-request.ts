/** The credential request: parse, decide, issue, store, answer. OpenID4VCI 1.0, Credential Endpoint. */
import { type JsonObject, own } from '../codec/json.ts'
import type { Order } from '../credential/format.ts'
import { recorded } from '../event/event.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialRequest, CredentialResponse } from '../protocol/oid4vci.ts'
import { commitOpen, type OpenSession } from './access-token.ts'
import { formatOfConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { draft13Nonce, inDraft13 } from './draft13.ts'
import { nonceExpiry } from './nonce.ts'
import { provedKey } from './proofs.ts'
import { asksByFormat, requestedConfiguration } from './requested-configuration.ts'
import { type IssuanceSession, recordIssued } from './session.ts'
import { statusBody } from './session-status.ts'
import { entriesFor, type IssuedEntries, keptEntries, statusOfEntry } from './status-list/issued.ts'

const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * Issues one credential. Refuses with the codes of OpenID4VCI 1.0, Credential Error Response; with those of draft 13 where
 * the request is of a wallet that old and the configuration lets it be served.
 */
export async function requestCredential(
  context: IssuerContext,
  open: OpenSession,
  request: CredentialRequest,
): Promise<CredentialResponse> {
  if (!context.config.draft13 || !mayBeDraft13(request)) {
    const credential = await issueRequested(context, open, request)
    return { credentials: [{ credential }], ...(asksByFormat(request) ? { credential } : {}) }
  }
  try {
    const credential = await issueRequested(context, open, request)
    return { credentials: [{ credential }], credential, ...draft13Nonce(context, open.sessionId) }
  } catch (error) {
    throw inDraft13(context, open.sessionId, error)
  }
}

/** Its wallets ask by format, or by an identifier from authorization details; and have one proof. */
function mayBeDraft13(request: CredentialRequest): boolean {
  return request.proofs === undefined && request.credential_configuration_id === undefined
}

async function issueRequested(context: IssuerContext, open: OpenSession, request: CredentialRequest): Promise<string> {
  const { sessionId } = open
  const { configurationId, configuration } = await requestedConfiguration(context, open.session, request)
  const now = context.now()
  const { holderKey, nonce } = provedKey(context, request, { sessionId, configuration, now })
  // After everything else, so that a proof that is wrong in any other way does not use up the nonce.
  const spentUntil = nonceExpiry(context.secrets.nonce, sessionId, nonce, now)
  if (spentUntil === undefined) return refuseNonce()
  // The batch below decides; this only saves a replay the work of issuing.
  if (await context.store.get('spent_nonce', nonce)) refuseNonce()
  // Refuses before anything is signed; what it gives is made again with the session as it is then.
  recordIssued(open.session, configurationId, now)
  const dataset = await datasetOf(context, sessionId)
  const entries = await entriesFor(context, configuration, 1)
  const status = statusOfEntry(context, configuration, entries[0])
  const order = orderOf(context, { configuration, dataset, holderKey, now, ...status })
  const credential = await issueChecked(context, order)
  await spendAndRecord(context, open, { configurationId, entries, nonce, spentUntil, now })
  return credential
}

async function datasetOf({ store }: IssuerContext, sessionId: string): Promise<JsonObject> {
  const row = await store.get('issuance_dataset', sessionId)
  return row?.value ?? refuse('credential_request_denied', 'the data of this session is gone; start a new one')
}

/**
 * The issue time is rounded down and the expiry up, so that two credentials of one dataset cannot be told apart by
 * their clock, and neither is shorter than it was declared. RFC 9901 section 10.1. Nothing is dated before the certificate
 * that it is signed with, which may be younger than the hour. ISO/IEC 18013-5 section 9.3.1.
 */
function orderOf(
  { config }: IssuerContext,
  made: Pick<Order, 'configuration' | 'dataset' | 'holderKey' | 'status'> & { readonly now: Date },
): Order {
  const validity = (own(made.configuration, 'validity_seconds') as number | undefined) ?? YEAR_SECONDS
  const grain = 1000 * (validity >= 86_400 ? 3600 : validity >= 3600 ? 60 : 1)
  const { now, ...rest } = made
  const certified = Math.min(config.chain[0]?.notBefore.getTime() ?? 0, now.getTime())
  return {
    ...rest,
    issuer: config.issuer.id,
    issuedAt: new Date(Math.max(Math.floor(now.getTime() / grain) * grain, certified)),
    expiresAt: new Date(Math.ceil((now.getTime() + validity * 1000) / grain) * grain),
  }
}

/** Nothing leaves that does not read back, by the wallet's own rules, as what was ordered. */
async function issueChecked({ signer, random }: IssuerContext, order: Order): Promise<string> {
  const format = formatOfConfiguration(order.configuration)
  const credential = await format.issue(order, signer, random)
  if (!format.fulfils(order, credential)) throw new Error('the credential does not read back as it was ordered')
  return credential
}

/** Spends the nonce and moves the session, both or neither; again when another request of the session was faster. */
async function spendAndRecord(
  context: IssuerContext,
  open: OpenSession,
  made: Omit<IssuedEntries, 'isFirst'> & { readonly nonce: string; readonly spentUntil: Date; readonly now: Date },
): Promise<void> {
  const id = open.sessionId
  let { session, version } = open
  for (;;) {
    const value = recordIssued(session, made.configurationId, made.now)
    const isFirst = session.issued.length === 0
    const failed = await commitOpen(context, open, [
      { insert: 'spent_nonce', id: made.nonce, value: {}, dueAt: made.spentUntil },
      { update: 'issuance_session', id, version, value },
      ...(await keptEntries(context, id, { ...made, isFirst })),
      ...(isFirst ? [succeeded(context, id, value, made.now)] : []),
    ])
    if (failed === undefined) return
    if (failed === 0) refuseNonce()
    const row = await context.store.get('issuance_session', id)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    ;({ value: session, version } = row)
  }
}

/** The session has given out its first credential. */
function succeeded({ random }: IssuerContext, sessionId: string, session: IssuanceSession, now: Date) {
  const data = statusBody(sessionId, session, now) as unknown as JsonObject
  return recorded({ type: 'issuance.succeeded', at: now.getTime(), sessionId, data }, random)
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
