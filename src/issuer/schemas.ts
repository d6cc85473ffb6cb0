/**
 * The schemas of the issuance service's routes: they validate requests and make up the OpenAPI document. The objects of
 * OpenID4VCI are in `protocol/oid4vci.ts`.
 */
import type { Static, TSchema } from 'typebox'
import * as Type from 'typebox'
import type { JsonObject } from '../codec/json.ts'
import { MAX_REFRESH_SECONDS, MAX_SESSION_SECONDS } from '../config/retention.ts'
import {
  AnyObject,
  applicationOperation,
  eventStreamResponse,
  IdempotencyHeader,
  JSON_TYPE,
  JWT_TYPE,
  jsonResponse,
  refusalCodes,
  responseAs,
  responseByType,
  SessionParams,
  sentHeaders,
  walletOperation,
} from '../http/openapi-responses.ts'
import { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant-types.ts'
import { CredentialOffer, PLAIN_TEXT } from '../protocol/oid4vci.ts'
import { MAX_CODE } from './access/pre-authorized-code.ts'
import { IssuanceSessionStatus, NewTransactionCode, OfferedPerson } from './session-schema.ts'

const ConfigurationParams = Type.Object({ credential_configuration_id: Type.String() })

const DatasetSchema = Type.Object(
  { credentialSubject: Type.Optional(AnyObject) },
  {
    title: 'CredentialDataset',
    description: 'The claims of the credentials of a session',
    additionalProperties: true,
    examples: [{ credentialSubject: { given_name: 'Ada', family_name: 'Lovelace', student_number: '1815' } }],
  },
)

/** The claims of the credentials of a session, in the form of each format. */
export const Dataset = Type.Unsafe<JsonObject>(
  Type.Object(
    {},
    {
      'x-described': DatasetSchema,
      description:
        '{credentialSubject: {claim: value}}, of W3C formats; the claims themselves, of dc+sd-jwt; {namespace: {element: value}}, of mso_mdoc. Where a session has several formats, each takes its own members of the one dataset',
    },
  ),
)

export const NewIssuanceSession = Type.Object(
  {
    credential_dataset: Type.Optional(Dataset),
    deferred: Type.Optional(
      Type.Boolean({ description: 'The dataset comes later; wallets wait. Then without credential_dataset' }),
    ),
    credential_configurations: Type.Array(Type.String(), { minItems: 1, maxItems: 50, uniqueItems: true }),
    expires_in: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_SESSION_SECONDS, description: 'Seconds; 600 when absent' }),
    ),
    'pre-authorized_code': Type.Optional(
      Type.String({
        minLength: 16,
        maxLength: MAX_CODE,
        pattern: '^[!-~]*$',
        description:
          'The code of the offer, where an authorization server knows it already; used once; made when absent',
      }),
    ),
    grants: Type.Optional(
      Type.Array(Type.Union([Type.Literal(AUTHORIZATION_CODE_GRANT), Type.Literal(PRE_AUTHORIZED_GRANT)]), {
        minItems: 1,
        uniqueItems: true,
        description:
          'The grants of the offer; the pre-authorized code alone when absent, and authorization_code alone in the profile haip. authorization_code needs the setting authentication, or an authorizationServer',
      }),
    ),
    person: Type.Optional(OfferedPerson),
    tx_code: Type.Optional(NewTransactionCode),
    refresh_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_REFRESH_SECONDS,
        description:
          'How long after its first token the wallet may get the credential anew; when absent not at all, and seven days where it is deferred',
      }),
    ),
  },
  {
    title: 'NewIssuanceSession',
    additionalProperties: false,
    examples: [
      {
        credential_configurations: ['CREDENTIAL_CONFIGURATION_ID'],
        credential_dataset: {
          credentialSubject: { given_name: 'Ada', family_name: 'Lovelace', student_number: '1815' },
        },
      },
    ],
  },
)
export type NewIssuanceSession = Static<typeof NewIssuanceSession>

/** The application's decision on a deferred session. */
export const Completion = Type.Object(
  {
    credential_dataset: Type.Optional(Dataset),
    denied: Type.Optional(Type.Literal(true, { description: 'There will be no credential' })),
    reason: Type.Optional(
      Type.String({ maxLength: 300, pattern: PLAIN_TEXT, description: 'For the wallet, why it was denied' }),
    ),
  },
  { title: 'Completion', additionalProperties: false },
)
export type Completion = Static<typeof Completion>

export const createConfigurationRoute = {
  ...applicationOperation,
  operationId: 'createCredentialConfiguration',
  summary: 'Declare a credential configuration; the answer is its id',
  body: CredentialConfiguration,
  response: responseAs(201, 'text/plain', Type.String()),
}

export const getConfigurationRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'getCredentialConfiguration',
  summary: 'A credential configuration as it was posted',
  params: ConfigurationParams,
  response: jsonResponse(200, CredentialConfiguration),
}

export const removeConfigurationRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'removeCredentialConfiguration',
  summary: 'Take a credential configuration away from new sessions',
  params: ConfigurationParams,
  response: jsonResponse(200, Type.Object({}, { additionalProperties: false })),
}

export const newIssuanceRoute = {
  ...applicationOperation,
  ...refusalCodes('idempotency_conflict', 'invalid_state'),
  operationId: 'createIssuanceSession',
  summary: 'Start an issuance session',
  headers: IdempotencyHeader,
  body: NewIssuanceSession,
  response: jsonResponse(
    200,
    Type.Object(
      {
        session_id: Type.String(),
        credential_offer_uri: Type.String(),
        tx_code: Type.Optional(Type.String({ description: 'The transaction code, where one was generated' })),
      },
      { title: 'StartedIssuanceSession' },
    ),
  ),
}

export const completeSessionRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'gone', 'invalid_state'),
  operationId: 'completeIssuanceSession',
  summary: 'Decide on a deferred issuance session; the answer is its status',
  params: SessionParams,
  body: Completion,
  response: jsonResponse(200, IssuanceSessionStatus),
}

export const issuanceStatusRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'getIssuanceSession',
  summary: 'The status of an issuance session',
  params: SessionParams,
  response: jsonResponse(200, IssuanceSessionStatus),
}

export const issuanceEventsRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'temporarily_unavailable'),
  operationId: 'watchIssuanceSession',
  summary: 'The status of an issuance session and each change of it, as server-sent events',
  params: SessionParams,
  response: eventStreamResponse('IssuanceSession'),
}

export const offerRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'gone'),
  operationId: 'getCredentialOffer',
  summary: 'The credential offer',
  params: SessionParams,
  response: jsonResponse(200, CredentialOffer),
}

/** Makes the schema of a metadata route. */
export function documentRoute(operationId: string, summary: string, content: TSchema) {
  return { ...walletOperation, operationId, summary, response: jsonResponse(200, content) }
}

/** Makes the schema of a metadata route whose document can be signed. */
export function signedDocumentRoute(operationId: string, summary: string, content: TSchema) {
  return {
    ...walletOperation,
    ...refusalCodes('temporarily_unavailable'),
    ...sentHeaders('ETag'),
    operationId,
    summary,
    response: responseByType({ [JSON_TYPE]: content, [JWT_TYPE]: Type.String() }),
  }
}
