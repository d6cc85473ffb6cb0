/** The schemas of the verification service's routes: they validate requests and make up the OpenAPI document. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MAX_URL } from '../codec/url.ts'
import { MAX_SESSION_SECONDS } from '../config/retention.ts'
import {
  AnyObject,
  applicationOperation,
  eventStreamResponse,
  IdempotencyHeader,
  jsonResponse,
  refusalCodes,
  responseAs,
  SessionParams,
  walletOperation,
} from '../http/openapi-responses.ts'
import { MAX_TRANSACTIONS } from '../protocol/transaction-data.ts'
import { VerificationResult, VerificationSessionStatus } from './report-schemas.ts'
import { DcqlQueryBody, SimulationResultSchema, SimulationSchema } from './simulation-schemas.ts'

const TransactionData = Type.Object(
  { type: Type.String(), credential_ids: Type.Array(Type.String(), { minItems: 1 }) },
  {
    title: 'TransactionData',
    description: 'OpenID4VP 1.0, Transaction Data; with the members of the type',
    additionalProperties: true,
  },
)

const VpToken = Type.Record(Type.String(), Type.Array(Type.Union([Type.String(), AnyObject])), {
  title: 'VpToken',
  description: 'Credential query id to array of presentations',
})

export const NewVerificationSession = Type.Object(
  {
    verification_query_id: Type.String(),
    expires_in: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SESSION_SECONDS, description: 'Seconds' })),
    redirect_uri: Type.Optional(
      Type.String({
        description:
          'Same-device flow: where the wallet sends the person afterwards, with a response_code, without which the status has no result',
      }),
    ),
    transaction_data: Type.Optional(
      Type.Array(
        Type.Object(
          {},
          {
            description: 'type, credential_ids (one), and the members of the type; OpenID4VP 1.0, Transaction Data',
            'x-described': TransactionData,
          },
        ),
        { minItems: 1, maxItems: MAX_TRANSACTIONS },
      ),
    ),
    request_uri_method: Type.Optional(
      Type.Union([Type.Literal('post'), Type.Literal('get')], {
        description:
          'Stands in the link when it is given; with post, a wallet may send a wallet_nonce. Not beside link: false',
      }),
    ),
    origin: Type.Optional(
      Type.String({
        maxLength: MAX_URL,
        description:
          'The origin of the page that may ask the browser for the response (Digital Credentials API), such as https://shop.example',
      }),
    ),
    link: Type.Optional(
      Type.Boolean({
        description: 'With false, the session has no link, and only the browser gives its response; true when absent',
      }),
    ),
  },
  {
    title: 'NewVerificationSession',
    additionalProperties: false,
    examples: [{ verification_query_id: 'VERIFICATION_QUERY_ID' }],
  },
)
export type NewVerificationSession = Static<typeof NewVerificationSession>

/** The members of an unencrypted error of a wallet. */
const WalletErrorMembers = {
  state: Type.Optional(Type.String()),
  error: Type.Optional(Type.String({ description: 'access_denied when the holder declined' })),
  error_description: Type.Optional(Type.String()),
}

/** The form of a response. All members are optional here, and unknown ones are ignored. */
export const PlainResponseForm = Type.Object(
  {
    vp_token: Type.Optional(Type.String({ description: 'JSON object: credential query id to array of presentations' })),
    ...WalletErrorMembers,
  },
  { title: 'AuthorizationResponse' },
)
export type PlainResponseForm = Static<typeof PlainResponseForm>

/** The form of an encrypted response. */
export const EncryptedResponseForm = Type.Object(
  {
    response: Type.Optional(
      Type.String({ description: 'JWE of an object with vp_token and state, to the key of the request' }),
    ),
    ...WalletErrorMembers,
  },
  { title: 'EncryptedAuthorizationResponse' },
)
export type EncryptedResponseForm = Static<typeof EncryptedResponseForm>

/** The parameters of a wallet's request for its request object; unknown ones are ignored. */
export const RequestObjectForm = Type.Object(
  {
    wallet_nonce: Type.Optional(Type.String({ description: 'Comes back in the request object' })),
    wallet_metadata: Type.Optional(Type.String({ description: 'JSON object; its jwks encrypt the request object' })),
  },
  { title: 'RequestObjectRequest' },
)
export type RequestObjectForm = Static<typeof RequestObjectForm>

export const createQueryRoute = {
  ...applicationOperation,
  operationId: 'createVerificationQuery',
  summary: 'Store a DCQL query; the answer is its id',
  body: Type.Object({ dcql_query: DcqlQueryBody }, { title: 'NewVerificationQuery', additionalProperties: false }),
  response: responseAs(201, 'text/plain', Type.String()),
}

export const simulateQueryRoute = {
  ...applicationOperation,
  operationId: 'simulateVerificationQuery',
  summary: 'Which of some credentials would answer a DCQL query; nothing is verified or stored',
  description:
    'A dry run. Signatures, trust, dates and status are not looked at, and nothing is kept. Reasons name paths, never the values of claims.',
  body: SimulationSchema,
  response: jsonResponse(200, SimulationResultSchema),
}

export const createBareQueryRoute = {
  ...applicationOperation,
  operationId: 'createDcqlQuery',
  summary: 'Store a DCQL query that is the whole body; the answer is its id',
  body: DcqlQueryBody,
  response: responseAs(201, 'text/plain', Type.String()),
}

export const getQueryRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'getVerificationQuery',
  summary: 'A DCQL query as it was posted',
  params: Type.Object({ verification_query_id: Type.String() }),
  response: jsonResponse(
    200,
    Type.Object({ verification_query_id: Type.String(), dcql_query: DcqlQueryBody }, { title: 'VerificationQuery' }),
  ),
}

export const StartedVerificationSession = Type.Object(
  {
    session_id: Type.String(),
    request_uri: Type.Optional(Type.String({ description: 'The link; absent if the session has none' })),
    digital_credentials_uri: Type.Optional(
      Type.String({
        description: 'Where the page fetches its request for the browser, and posts the response; with an origin',
      }),
    ),
  },
  { title: 'StartedVerificationSession' },
)
export type StartedVerificationSession = Static<typeof StartedVerificationSession>

export const newSessionRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'idempotency_conflict'),
  operationId: 'createVerificationSession',
  summary: 'Start a verification session',
  headers: IdempotencyHeader,
  body: NewVerificationSession,
  response: jsonResponse(200, StartedVerificationSession),
}

export const sessionStatusRoute = {
  ...applicationOperation,
  ...refusalCodes('invalid_request', 'not_found'),
  operationId: 'getVerificationSession',
  summary: 'The status of a verification session, with every check',
  params: SessionParams,
  querystring: Type.Object({
    response_code: Type.Optional(
      Type.String({
        description: 'The code of the redirect, where the session has a redirect_uri; without it there is no result',
      }),
    ),
  }),
  response: jsonResponse(200, VerificationSessionStatus),
}

export const sessionEventsRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'temporarily_unavailable'),
  operationId: 'watchVerificationSession',
  summary: 'The status of a verification session and each change of it, as server-sent events',
  params: SessionParams,
  response: eventStreamResponse('VerificationSession'),
}

export const requestObjectRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'gone', 'temporarily_unavailable'),
  operationId: 'getRequestObject',
  summary: 'The signed request object',
  params: SessionParams,
  response: responseAs(200, 'application/oauth-authz-req+jwt', Type.String()),
}

export const postedRequestObjectRoute = {
  ...requestObjectRoute,
  operationId: 'postRequestObject',
  summary: 'The signed request object, for this wallet',
  consumes: ['application/x-www-form-urlencoded'],
  body: RequestObjectForm,
}

export const StaticPresentation = Type.Object(
  {
    verification_query_id: Type.Optional(Type.String({ description: 'Either this or dcql_query' })),
    dcql_query: Type.Optional(DcqlQueryBody),
    vp_token: Type.Object({}, { description: 'Credential query id to array of presentations', 'x-described': VpToken }),
    nonce: Type.Optional(Type.String({ minLength: 1, description: 'Not compared when absent' })),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'The client_id of the request, or origin: and the origin of the page that asked the browser; not compared when absent',
      }),
    ),
    response_uri: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The address of the request; an mso_mdoc that a link asked for is signed over it',
      }),
    ),
    encryption_jwk_thumbprint: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description:
          'The thumbprint (RFC 7638) of the key that the response was encrypted to; an mso_mdoc is signed over it',
      }),
    ),
  },
  { title: 'StaticPresentation', additionalProperties: false },
)
export type StaticPresentation = Static<typeof StaticPresentation>

export const staticPresentationRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found'),
  operationId: 'verifyStaticPresentation',
  summary: 'Verify a presentation that the application has; nothing of it is kept',
  body: StaticPresentation,
  response: jsonResponse(200, VerificationResult),
}

/** The response to the wallet: the redirect URI, if the application set one. */
export const ResponseReceipt = Type.Object({
  redirect_uri: Type.Optional(Type.String({ description: 'Where the wallet sends the person' })),
})
export type ResponseReceipt = Static<typeof ResponseReceipt>

export const authorizationResponseRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'gone'),
  operationId: 'postAuthorizationResponse',
  summary: 'Present, or say why not',
  consumes: ['application/x-www-form-urlencoded'],
  params: SessionParams,
  body: PlainResponseForm,
  response: jsonResponse(200, ResponseReceipt),
}

export const encryptedAuthorizationResponseRoute = {
  ...authorizationResponseRoute,
  operationId: 'postEncryptedAuthorizationResponse',
  summary: 'Present encrypted, or say why not',
  body: EncryptedResponseForm,
}
