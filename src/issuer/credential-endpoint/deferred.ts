/**
 * Deferred issuance, for sessions that were started without a dataset. A credential request is verified as usual, and
 * its keys are stored until the application decides. OpenID4VCI 1.0, Deferred Credential Endpoint.
 */

import { refuse } from '../../protocol/error.ts'
import type { CredentialResponse, DeferredCredentialRequest } from '../../protocol/oid4vci.ts'
import { refuseInsufficientScope } from '../access/dpop.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { CredentialResponseForm } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { type IssuanceSession, isUndecided, recordFetched } from '../session.ts'
import { issueCredentials, makeDeferredResponse, refuseDenied } from './issuing.ts'

/** The response to a deferred credential request, and its form, as the credential request asked for it. */
export interface DeferredAnswer {
  readonly response: CredentialResponse
  readonly responseForm: CredentialResponseForm
}

/**
 * Returns the credentials of a transaction, once, for the keys of the credential request; or the transaction id again
 * if the application has not decided. Refuses with `invalid_transaction_id` an id that is unknown in the session of the
 * token or was used, with `insufficient_scope` if a refreshed token does not cover the configuration any more, and with
 * `credential_request_denied` if the application has denied it.
 */
export async function answerDeferredRequest(
  context: IssuerContext,
  openSession: OpenSession,
  { transaction_id: id }: DeferredCredentialRequest,
): Promise<DeferredAnswer> {
  if (typeof id !== 'string') return refuse('invalid_credential_request', 'transaction_id must be a string')
  const { value: session } = openSession.row
  const row = await context.store.get('deferred_transaction', id)
  if (row === undefined || row.value.sessionId !== openSession.sessionId) return refuseTransaction()
  const { configurationId, holderKeys, holderDids = {} } = row.value
  const { authorizedIds } = openSession
  if (authorizedIds !== undefined && !authorizedIds.includes(configurationId)) {
    const message = 'the access token has been narrowed to other credentials; send one that covers this credential'
    refuseInsufficientScope(context.config, openSession, message)
  }
  refuseDenied(session)
  if (isUndecided(session)) {
    await changeSession(context, openSession, () => undefined)
    return { response: makeDeferredResponse(id), responseForm: {} }
  }
  const configuration = await context.loadConfiguration(configurationId)
  if (configuration === undefined)
    return refuse('credential_request_denied', 'this credential is not there any more; ask for a new offer')
  const toIssue = { configuration, holderKeys, holderDids, now: context.now() }
  const change = { delete: 'deferred_transaction', id, version: row.version } as const
  const singleUse = { change, refuseReuse: refuseTransaction }
  const prepareSession = (current: IssuanceSession) => recordFetched(current, configurationId)
  const response = await issueCredentials(context, openSession, toIssue, { singleUse, prepareSession })
  return { response, responseForm: row.value.responseForm ?? {} }
}

function refuseTransaction(): never {
  return refuse(
    'invalid_transaction_id',
    'the transaction_id is unknown or has been used; a new credential request gets the credential',
  )
}
