/** The schemas of the routes of `routes.ts`. */
import * as Type from 'typebox'
import {
  contentByType,
  JSON_TYPE,
  JWT_TYPE,
  jsonResponse,
  NO_CONTENT,
  refusalCodes,
  responseByType,
  sentHeaders,
  walletOperation,
} from '../../http/openapi-responses.ts'
import {
  CredentialRequest,
  CredentialResponse,
  DeferredCredentialRequest,
  NotificationRequest,
} from '../../protocol/oid4vci.ts'

export const nonceRoute = {
  ...walletOperation,
  ...sentHeaders('DPoP-Nonce'),
  operationId: 'createNonce',
  summary: 'A fresh c_nonce',
  response: jsonResponse(200, Type.Object({ c_nonce: Type.String() })),
}

const credentialContent = { [JSON_TYPE]: CredentialResponse, [JWT_TYPE]: Type.String() }
/** The responses of the credential and deferred credential endpoints. */
const credentialAnswers = { ...responseByType(credentialContent), 202: contentByType(credentialContent) }

const tokenOperation = { tags: ['wallet'], security: [{ accessToken: [] }, { dpopAccessToken: [] }] }

export const credentialRoute = {
  ...tokenOperation,
  ...refusalCodes(
    'invalid_credential_request',
    'unknown_credential_configuration',
    'unknown_credential_identifier',
    'unsupported_credential_type',
    'invalid_proof',
    'invalid_nonce',
    'invalid_encryption_parameters',
    'credential_request_denied',
  ),
  operationId: 'requestCredential',
  summary: 'Issue a credential to the key of the proof',
  // The request and the response may each be encrypted.
  body: contentByType({ [JSON_TYPE]: CredentialRequest, [JWT_TYPE]: Type.String() }),
  response: credentialAnswers,
}

const DEFERRED_REFUSALS = [
  'invalid_credential_request',
  'invalid_transaction_id',
  'invalid_encryption_parameters',
  'credential_request_denied',
] as const

export const deferredCredentialRoute = {
  ...tokenOperation,
  ...refusalCodes(...DEFERRED_REFUSALS),
  operationId: 'requestDeferredCredential',
  summary: 'The credentials of a request that had to wait',
  body: contentByType({ [JSON_TYPE]: DeferredCredentialRequest, [JWT_TYPE]: Type.String() }),
  response: credentialAnswers,
}

export const draft15DeferredCredentialRoute = {
  ...deferredCredentialRoute,
  ...refusalCodes(...DEFERRED_REFUSALS, 'issuance_pending'),
  operationId: 'requestDeferredCredentialByDraft',
  summary: 'The same for wallets of drafts up to 15, which are refused with issuance_pending while they have to wait',
}

export const notificationRoute = {
  ...tokenOperation,
  ...refusalCodes('invalid_notification_request', 'invalid_notification_id'),
  operationId: 'notifyIssuer',
  summary: 'Hear what became of credentials',
  body: NotificationRequest,
  response: NO_CONTENT,
}
