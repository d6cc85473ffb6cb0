/** The credential request: parse, decide, issue, store, answer. OpenID4VCI 1.0, Credential Endpoint. */
import { type JsonObject, own } from '../codec/json.ts'
import type { Order } from '../credential/format.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialRequest, CredentialResponse } from '../protocol/oid4vci.ts'
import type { OpenSession } from './access-token.ts'
import { formatOfConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { nonceExpiry } from './nonce.ts'
import { provedKey } from './proofs.ts'
import { type IssuanceSession, recordIssued } from './session.ts'

const YEAR_SECONDS = 365 * 24 * 60 * 60

/** Issues one credential. Refuses with the codes of OpenID4VCI 1.0, Credential Error Response. */
export async function requestCredential(
  context: IssuerContext,
  open: OpenSession,
  request: CredentialRequest,
): Promise<CredentialResponse> {
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
  const order = orderOf(context, { configuration, dataset, holderKey, now })
  const credential = await issueChecked(context, order)
  await spendAndRecord(context, open, { configurationId, nonce, spentUntil, now })
  return { credentials: [{ credential }] }
}

async function requestedConfiguration(
  context: IssuerContext,
  session: IssuanceSession,
  request: CredentialRequest,
): Promise<{ readonly configurationId: string; readonly configuration: JsonObject }> {
  const { credential_identifier: identifier, credential_configuration_id: id } = request
  if (identifier !== undefined) {
    refuse('unknown_credential_identifier', 'no credential identifiers were given; send credential_configuration_id')
  }
  if (request.credential_response_encryption !== undefined) {
    refuse('invalid_encryption_parameters', 'encrypted credential responses are not yet supported')
  }
  if (typeof id !== 'string') {
    return refuse('invalid_credential_request', 'credential_configuration_id is missing; send one of the offer')
  }
  const configuration = await context.configuration(id)
  if (configuration === undefined)
    return refuse('unknown_credential_configuration', 'there is no such credential configuration')
  if (!session.configurationIds.includes(id)) {
    refuse('insufficient_scope', 'the access token is for other credential configurations')
  }
  return { configurationId: id, configuration }
}

async function datasetOf({ store }: IssuerContext, sessionId: string): Promise<JsonObject> {
  const row = await store.get('issuance_dataset', sessionId)
  return row?.value ?? refuse('credential_request_denied', 'the data of this session is gone; start a new one')
}

/**
 * The issue time is rounded down and the expiry up, so that two credentials of one dataset cannot be told apart by
 * their clock, and neither is shorter than it was declared. RFC 9901 section 10.1.
 */
function orderOf(
  { config }: IssuerContext,
  made: Pick<Order, 'configuration' | 'dataset' | 'holderKey'> & { readonly now: Date },
): Order {
  const validity = (own(made.configuration, 'validity_seconds') as number | undefined) ?? YEAR_SECONDS
  const grain = 1000 * (validity >= 86_400 ? 3600 : validity >= 3600 ? 60 : 1)
  const { now, ...rest } = made
  return {
    ...rest,
    issuer: config.issuer.id,
    issuedAt: new Date(Math.floor(now.getTime() / grain) * grain),
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
  made: { readonly configurationId: string; readonly nonce: string; readonly spentUntil: Date; readonly now: Date },
): Promise<void> {
  let { session, version } = open
  for (;;) {
    const failed = await context.store.commit([
      { insert: 'spent_nonce', id: made.nonce, value: {}, expiresAt: made.spentUntil },
      {
        update: 'issuance_session',
        id: open.sessionId,
        version,
        value: recordIssued(session, made.configurationId, made.now),
      },
    ])
    if (failed === undefined) return
    if (failed === 0) refuseNonce()
    const row = await context.store.get('issuance_session', open.sessionId)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    ;({ value: session, version } = row)
  }
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
