/**
 * Deferred issuance: a session without its data yet. A request for a credential is checked like any other, and its keys are
 * kept until the application has decided. OpenID4VCI 1.0, Deferred Credential Endpoint.
 */
import { toBase64url } from '../../codec/base64url.ts'
import type { JweParameters } from '../../keys/jwe.ts'
import { ProtocolError, refuse } from '../../protocol/error.ts'
import type { CredentialResponse, DeferredCredentialRequest } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import { endOf, type IssuanceSession, isUndecided, recordFetched, recordWaiting } from '../session.ts'
import { sessionEvent } from '../session-event.ts'
import { commitOpen, type OpenSession, TOKEN_SECONDS } from '../token-endpoint/access-token.ts'
import { withSingle } from './draft13.ts'
import { type Granted, issueCredentials } from './issuing.ts'
import { changeSession, type Spending } from './session-change.ts'

/** The answer to a deferred request, and how the answer to the first request was encrypted, where it was. */
export interface DeferredAnswer {
  readonly response: CredentialResponse
  readonly encryption?: JweParameters
}

/** How long a wallet waits before it asks again. */
const INTERVAL_SECONDS = 5

/**
 * The credentials, or the id of a transaction where the application has not decided yet. Refuses with
 * `credential_request_denied` when the application has said no, and like {@link changeSession}.
 */
export async function issueOrDefer(
  context: IssuerContext,
  open: OpenSession,
  granted: Granted,
  spending: Spending,
): Promise<CredentialResponse> {
  refuseDenied(open.session)
  if (!isUndecided(open.session)) return issueCredentials(context, open, granted, { spending })
  const { configurationId, holderKeys, now, wantsSingle, encryption } = granted
  const { sessionId } = open
  const id = toBase64url(context.random(24))
  const value = {
    sessionId,
    configurationId,
    holderKeys,
    ...(wantsSingle && { wantsSingle }),
    ...(encryption && { encryption }),
  }
  await changeSession(
    context,
    open,
    (session) => {
      const next = recordWaiting(session, configurationId)
      // A token of the last refresh lives on for a while.
      const dueAt = new Date(endOf(next) + TOKEN_SECONDS * 1000)
      const insert = { insert: 'deferred_transaction', id, value, dueAt } as const
      const isFirst = session.deferral?.waiting.length === 0 && session.issued.length === 0
      // The application may want to know that somebody waits.
      if (!isFirst) return { value: next, also: [insert] }
      const deferred = sessionEvent(context, 'issuance.deferred', { sessionId, session: next, now })
      return { value: deferred.value, also: [insert, deferred.event] }
    },
    spending,
  )
  return { transaction_id: id, interval: INTERVAL_SECONDS }
}

/**
 * What a wallet gets for its transaction: the credentials, once, to the keys that it proved when it asked first; or the same
 * answer as before while the application has not decided. Refuses with `invalid_transaction_id` one that is not of the
 * session of the token or has been used, with `insufficient_scope` where a refreshed token is for other credentials by now, with
 * `credential_request_denied` when the application has said no.
 */
export async function fetchDeferred(
  context: IssuerContext,
  open: OpenSession,
  { transaction_id: id }: DeferredCredentialRequest,
): Promise<DeferredAnswer> {
  if (typeof id !== 'string') return refuse('invalid_credential_request', 'transaction_id must be a string')
  const row = await context.store.get('deferred_transaction', id)
  if (row === undefined || row.value.sessionId !== open.sessionId) return refuseTransaction()
  const { authorized } = open.session.token ?? {}
  if (authorized !== undefined && !authorized.includes(row.value.configurationId)) {
    refuse('insufficient_scope', 'the access token has been narrowed to other credentials')
  }
  refuseDenied(open.session)
  if (isUndecided(open.session)) {
    await commitOpen(context, open, [])
    return { response: { transaction_id: id, interval: INTERVAL_SECONDS } }
  }
  const { configurationId, holderKeys, wantsSingle, encryption } = row.value
  const configuration = await context.configuration(configurationId)
  if (configuration === undefined) return refuse('credential_request_denied', 'this credential is not there any more')
  const granted = { configurationId, configuration, holderKeys, now: context.now() }
  const spend = { delete: 'deferred_transaction', id, version: row.version } as const
  const spending = { spend, refuseSpent: refuseTransaction }
  const before = (session: IssuanceSession) => recordFetched(session, configurationId)
  const response = await issueCredentials(context, open, granted, { spending, before })
  return { response: wantsSingle ? withSingle(response) : response, ...(encryption && { encryption }) }
}

/**
 * The same for wallets of drafts up to 15, which are refused with `issuance_pending` while the application has not decided.
 * Draft 15, Deferred Credential Error Response.
 */
export async function fetchDeferredDraft15(
  context: IssuerContext,
  open: OpenSession,
  request: DeferredCredentialRequest,
): Promise<DeferredAnswer> {
  const answer = await fetchDeferred(context, open, request)
  if (answer.response.transaction_id === undefined) return answer
  const members = { interval: INTERVAL_SECONDS }
  throw new ProtocolError('issuance_pending', 'the credential is not there yet; ask again later', { members })
}

/** In the words of the application, which the log does not have. */
function refuseDenied({ deferral }: IssuanceSession): void {
  const { denied } = deferral?.decided ?? {}
  if (denied === undefined) return
  const members = denied.reason === undefined ? {} : { error_description: denied.reason }
  throw new ProtocolError('credential_request_denied', 'the issuer has decided not to issue this credential', {
    members,
  })
}

function refuseTransaction(): never {
  return refuse(
    'invalid_transaction_id',
    'the transaction_id is unknown or has been used; a new credential request gets the credential',
  )
}
