/**
 * Processes a credential request: reads its body, selects the configuration, verifies the proofs, checks the nonce, and
 * issues the credentials or defers them. `routes.ts` authorizes the request, and `older-drafts.ts` converts a request
 * of an older draft to the form of the final specification. OpenID4VCI 1.0, Credential Endpoint.
 */
import { isObject } from '../../codec/json.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest, CredentialResponse, DeferredCredentialRequest } from '../../protocol/oid4vci.ts'
import { makeTimeOrderedId } from '../../store/time-ordered-id.ts'
import { ACCESS_TOKEN_SECONDS } from '../access/access-token.ts'
import { configurationOfIdentifier } from '../access/authorization-details.ts'
import { makeNonceSingleUse } from '../access/c-nonce.ts'
import { refuseInsufficientScope } from '../access/dpop.ts'
import { changeSession, type OpenSession } from '../access/open-session.ts'
import type { SingleUse } from '../access/single-use.ts'
import type { CredentialResponseForm } from '../collections.ts'
import type { IssuerContext, LoadedConfiguration } from '../context.ts'
import { endOfSession, type IssuanceSession, isUndecided, recordDeferred } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import { decryptRequest, readResponseEncryption } from './encryption.ts'
import { type CredentialsToIssue, issueCredentials, makeDeferredResponse, refuseDenied } from './issuing.ts'
import { verifyProofs } from './proofs.ts'

/** A request after decryption, and the form of its response: its encryption, and what an older draft has otherwise. */
export interface ReceivedRequest<T> {
  readonly request: T
  readonly responseForm: CredentialResponseForm
}

/**
 * Reads the body of a credential request or a deferred one; a text is a JWE. Refuses with
 * `invalid_encryption_parameters` a request, or a requested response, that is not encrypted as the metadata requires.
 * Refuses with `invalid_credential_request` a missing body.
 */
export async function readRequest<T extends CredentialRequest | DeferredCredentialRequest>(
  context: IssuerContext,
  body: T | string | undefined | null,
): Promise<ReceivedRequest<T>> {
  // A body without a media type is not validated by a schema.
  if (typeof body !== 'string' && !isObject(body)) {
    return refuse('invalid_credential_request', 'the body is missing; send application/json or application/jwt')
  }
  const { credentialEncryption: encryptionRule } = context.config
  const isEncrypted = typeof body === 'string'
  if (isEncrypted && encryptionRule === 'off') {
    return refuse('invalid_encryption_parameters', 'this issuer takes no encrypted requests; send application/json')
  }
  // The schema of an encrypted request only requires an object.
  const request = isEncrypted ? ((await decryptRequest(context, body)) as T) : body
  const { credential_response_encryption: member } = request
  if (!isEncrypted && encryptionRule === 'required') {
    refuse('invalid_encryption_parameters', 'this issuer takes encrypted credential requests only (application/jwt)')
  }
  if (member === undefined) {
    if (encryptionRule !== 'required') return { request, responseForm: {} }
    return refuse('invalid_encryption_parameters', 'credential_response_encryption is missing; this issuer requires it')
  }
  if (!isEncrypted) {
    const rule =
      encryptionRule === 'off'
        ? 'is not supported by this issuer; leave it out'
        : 'may only stand in an encrypted request (application/jwt)'
    refuse('invalid_encryption_parameters', `credential_response_encryption ${rule}`)
  }
  return { request, responseForm: { encryption: readResponseEncryption(member) } }
}

/**
 * Tests whether a request has the form of the final specification: it has `proofs`, and names a configuration or a
 * credential. Any other form is of an older draft, or of none.
 */
export function isFinalForm(request: CredentialRequest): boolean {
  const { proofs, proof, credential_configuration_id: id, credential_identifier: identifier } = request
  return proofs !== undefined && proof === undefined && (id !== undefined || identifier !== undefined)
}

/**
 * Issues a credential for each proved key, or defers them. Refuses with the errors of OpenID4VCI 1.0, Credential Error
 * Response.
 */
export async function answerCredentialRequest(
  context: IssuerContext,
  openSession: OpenSession,
  { request, responseForm }: ReceivedRequest<CredentialRequest>,
): Promise<CredentialResponse> {
  const now = context.now()
  const {
    sessionId,
    row: { value: session },
  } = openSession
  const configuration = await requireRequestedConfiguration(context, openSession, request)
  const proofContext = { sessionId, session, configuration, now }
  const { verifiedNonce, ...provedKeys } = await verifyProofs(context, request, proofContext)
  // Only the batch marks the nonce as used, so that the nonce can be used again after an earlier refusal.
  const singleUse = await makeNonceSingleUse(context.store, verifiedNonce)
  refuseDenied(session)
  const toIssue = { configuration, ...provedKeys, now }
  return isUndecided(session)
    ? deferCredentials(context, openSession, { ...toIssue, responseForm }, singleUse)
    : issueCredentials(context, openSession, toIssue, { singleUse })
}

/**
 * Returns the configuration that a request asks for. With a token that has authorization details, the request names a
 * credential identifier or, as each configuration has only one, the configuration. Refuses with
 * `unknown_credential_configuration` or `unknown_credential_identifier`, with `insufficient_scope` a credential that
 * the token does not cover, and with `invalid_credential_request` a request with neither or both of the two members.
 * OpenID4VCI 1.0, Credential Request.
 */
async function requireRequestedConfiguration(
  context: Pick<IssuerContext, 'loadConfiguration' | 'config'>,
  openSession: OpenSession,
  request: CredentialRequest,
): Promise<LoadedConfiguration> {
  const { row, authorizedIds } = openSession
  if (request.credential_identifier !== undefined) {
    return requireConfiguration(context, requireIdentifiedConfiguration(authorizedIds ?? [], request))
  }
  const { credential_configuration_id: id } = request
  if (typeof id !== 'string') {
    return refuse('invalid_credential_request', 'credential_configuration_id is missing; send one of the offer')
  }
  const configuration = await requireConfiguration(context, id)
  if (!row.value.configurationIds.includes(id)) {
    const message = 'the access token is for other credential configurations; send one of the offer'
    refuseInsufficientScope(context.config, openSession, message)
  }
  if (authorizedIds !== undefined && !authorizedIds.includes(id)) {
    const hint = 'send one of the credential_identifiers of the token response'
    refuseInsufficientScope(context.config, openSession, `the access token is for other credentials; ${hint}`)
  }
  return configuration
}

function requireIdentifiedConfiguration(authorizedIds: readonly string[], request: CredentialRequest): string {
  const id = configurationOfIdentifier(authorizedIds, request.credential_identifier)
  if (id === undefined) {
    const hint = authorizedIds.length > 0 ? 'send one of the token response' : 'send credential_configuration_id'
    return refuse('unknown_credential_identifier', `this credential identifier was not given; ${hint}`)
  }
  if (request.credential_configuration_id !== undefined) {
    refuse('invalid_credential_request', 'send credential_identifier and no credential_configuration_id')
  }
  return id
}

/** Returns a configuration, removed or not. Refuses with `unknown_credential_configuration`. */
export async function requireConfiguration(
  context: Pick<IssuerContext, 'loadConfiguration'>,
  id: string,
): Promise<LoadedConfiguration> {
  const problem = 'there is no such credential configuration; send one of the offer'
  return (await context.loadConfiguration(id)) ?? refuse('unknown_credential_configuration', problem)
}

/**
 * Stores the proved keys until the application decides, and returns a transaction id. `deferred.ts` issues the
 * credentials.
 */
async function deferCredentials(
  context: IssuerContext,
  openSession: OpenSession,
  {
    configuration: { id: configurationId },
    holderKeys,
    holderDids,
    now,
    responseForm,
  }: CredentialsToIssue & { readonly responseForm: CredentialResponseForm },
  singleUse: SingleUse,
): Promise<CredentialResponse> {
  const { sessionId } = openSession
  const id = makeTimeOrderedId(now.getTime(), context.random(18))
  const hasForm = Object.keys(responseForm).length > 0
  const value = { sessionId, configurationId, holderKeys, holderDids, ...(hasForm && { responseForm }) }
  const defer = (session: IssuanceSession) => {
    refuseDenied(session)
    const waitingSession = recordDeferred(session, configurationId)
    // The access token of the last refresh may outlive the session.
    const dueAt = new Date(endOfSession(waitingSession) + ACCESS_TOKEN_SECONDS * 1000)
    const insert = { insert: 'deferred_transaction', id, value, dueAt } as const
    const isFirst = session.deferral?.waiting.length === 0 && session.issued.length === 0
    // Only the first waiting request of a session sends an event to the application.
    if (!isFirst) return { value: waitingSession, otherChanges: [insert] }
    const update = makeSessionEvent(context, 'issuance.deferred', { sessionId, session: waitingSession, now })
    return { value: update.value, otherChanges: [insert, update.event] }
  }
  await changeSession(context, openSession, defer, singleUse)
  return makeDeferredResponse(id)
}
