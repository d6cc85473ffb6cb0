/** The schemas of the routes of the authorization code flow. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MAX_REFRESH_SECONDS } from '../../config/retention.ts'
import {
  applicationOperation,
  jsonResponse,
  refusalCodes,
  responseAs,
  Seconds,
  walletOperation,
} from '../../http/openapi-responses.ts'
import { PushedAuthorizationResponse } from '../../protocol/oauth.ts'
import { PLAIN_TEXT } from '../../protocol/oid4vci.ts'
import { Dataset } from '../schemas.ts'

/**
 * The parameters of an authorization request. All are optional here, so that the code refuses a missing one with the
 * OAuth error. Unknown parameters are ignored.
 */
const parameters = {
  response_type: Type.Optional(Type.String({ description: 'code' })),
  client_id: Type.Optional(Type.String({ description: 'A name of the wallet; nobody needs to register it' })),
  redirect_uri: Type.Optional(Type.String({ description: 'Where the code is sent' })),
  state: Type.Optional(Type.String({ description: 'Comes back with the code' })),
  scope: Type.Optional(Type.String({ description: 'Scopes of credential configurations' })),
  authorization_details: Type.Optional(
    Type.String({ description: 'JSON: [{"type": "openid_credential", "credential_configuration_id"}]' }),
  ),
  issuer_state: Type.Optional(Type.String({ description: 'From the credential offer' })),
  code_challenge: Type.Optional(Type.String({ description: 'The SHA-256 of the code_verifier, in base64url' })),
  code_challenge_method: Type.Optional(Type.String({ description: 'S256' })),
  dpop_jkt: Type.Optional(Type.String({ description: 'The thumbprint of the key that the token is to be bound to' })),
  response_mode: Type.Optional(Type.String({ description: 'query' })),
  request: Type.Optional(Type.String({ description: 'Refused: there are no request objects' })),
  request_uri: Type.Optional(Type.String({ description: 'Of a pushed request; then with client_id alone' })),
}

export const AuthorizationForm = Type.Object(parameters, { title: 'AuthorizationRequest' })
export type AuthorizationForm = Static<typeof AuthorizationForm>

const InteractionParams = Type.Object({ interaction_id: Type.String() })

export const Interaction = Type.Object(
  {
    interaction_id: Type.String(),
    client_id: Type.String({ description: 'The name that the wallet gives itself; nobody has verified it' }),
    redirect_uri: Type.String({ description: 'Where the browser goes in the end' }),
    credential_configurations: Type.Array(Type.String(), {
      description: 'The configurations that the wallet asks for',
    }),
    session_id: Type.Optional(Type.String({ description: 'The session of the offer; absent where there is no offer' })),
    needs_dataset: Type.Boolean({
      description:
        'Whether nobody has given the dataset yet. The dataset is for all credentials of the offer, where there is one',
    }),
    expires_at: Seconds,
  },
  { title: 'Interaction' },
)

export const InteractionCompletion = Type.Object(
  {
    credential_dataset: Type.Optional(Dataset),
    approved: Type.Optional(
      Type.Literal(true, { description: 'The session of the offer has the dataset, or gets it later' }),
    ),
    deferred: Type.Optional(
      Type.Literal(true, { description: 'There is no offer, and the dataset comes later; wallets wait' }),
    ),
    denied: Type.Optional(Type.Literal(true, { description: 'There will be no credential' })),
    reason: Type.Optional(
      Type.String({ maxLength: 300, pattern: PLAIN_TEXT, description: 'For the wallet, why it was denied' }),
    ),
    refresh_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_REFRESH_SECONDS,
        description: 'How long the wallet may refresh, as for a new session; where there is no offer',
      }),
    ),
  },
  { title: 'InteractionCompletion', additionalProperties: false },
)
export type InteractionCompletion = Static<typeof InteractionCompletion>

export const CompletedInteraction = Type.Object(
  {
    session_id: Type.Optional(Type.String({ description: 'The issuance session; absent where it was denied' })),
    redirect_uri: Type.String({ description: 'Send the browser there, within five minutes' }),
  },
  { title: 'CompletedInteraction' },
)

const requestCodes = [
  'not_found',
  'invalid_scope',
  'unsupported_response_type',
  'invalid_authorization_details',
] as const

export const pushedRequestRoute = {
  ...walletOperation,
  ...refusalCodes(
    ...requestCodes,
    'invalid_dpop_proof',
    'use_dpop_nonce',
    'invalid_client',
    'invalid_client_attestation',
    'use_attestation_challenge',
  ),
  operationId: 'pushAuthorizationRequest',
  summary: 'Push an authorization request',
  consumes: ['application/x-www-form-urlencoded'],
  body: AuthorizationForm,
  response: jsonResponse(201, PushedAuthorizationResponse),
}

const HTML_TYPE = 'text/html'
/** A redirect instead of a response with a body. */
const redirects: Record<string, object> = { 303: Type.Null() }

export const authorizeRoute = {
  ...walletOperation,
  ...refusalCodes(...requestCodes, 'invalid_request', 'invalid_request_uri', 'temporarily_unavailable'),
  operationId: 'authorize',
  summary: 'Send a browser for the code of an authorization',
  querystring: Type.Object(parameters),
  response: { ...responseAs(200, HTML_TYPE, Type.String()), ...redirects },
}

export const returnRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'invalid_request', 'gone', 'temporarily_unavailable'),
  operationId: 'returnFromInteraction',
  summary: 'Bring a browser back from the application',
  params: InteractionParams,
  querystring: Type.Object({ completion: Type.Optional(Type.String()) }),
  response: redirects,
}

const visitCodes = ['not_found', 'gone', 'invalid_request'] as const
const visitQuery = Type.Object({ interaction: Type.Optional(Type.String({ maxLength: 64 })) })

export const signInRoute = {
  ...walletOperation,
  ...refusalCodes(...visitCodes),
  operationId: 'showSignIn',
  summary: 'Ask a person whether they want to sign in for a wallet',
  querystring: visitQuery,
  response: responseAs(200, HTML_TYPE, Type.String()),
}

export const startSignInRoute = {
  ...walletOperation,
  ...refusalCodes(...visitCodes, 'temporarily_unavailable'),
  operationId: 'startSignIn',
  summary: 'Send a browser to the OpenID Connect provider of the operator, or show the link for a wallet',
  querystring: visitQuery,
  response: { ...responseAs(200, HTML_TYPE, Type.String()), ...redirects },
}

export const stopSignInRoute = {
  ...walletOperation,
  ...refusalCodes(...visitCodes, 'temporarily_unavailable'),
  operationId: 'stopSignIn',
  summary: 'Send a browser back to its wallet without a credential',
  querystring: visitQuery,
  response: { ...responseAs(200, HTML_TYPE, Type.String()), ...redirects },
}

const answerParameter = (description: string) => Type.Optional(Type.String({ maxLength: 4096, description }))

export const answerSignInRoute = {
  ...walletOperation,
  ...refusalCodes(...visitCodes, 'temporarily_unavailable'),
  operationId: 'answerSignIn',
  summary: 'Take the answer of the OpenID Connect provider that a browser brings',
  querystring: Type.Object({
    state: answerParameter('That of the request'),
    code: answerParameter('The code of the provider'),
    iss: answerParameter('The issuer identifier of the provider'),
    error: answerParameter('The error code of a provider that did not sign the person in'),
    error_description: answerParameter('Ignored'),
    error_uri: answerParameter('Ignored'),
    session_state: answerParameter('Ignored'),
  }),
  response: { ...responseAs(200, HTML_TYPE, Type.String()), ...redirects },
}

export const presentedRoute = {
  ...walletOperation,
  ...refusalCodes(...visitCodes, 'temporarily_unavailable'),
  operationId: 'answerPresentation',
  summary: 'Take the browser of a person who presented another credential',
  querystring: Type.Object({
    interaction: Type.Optional(Type.String({ maxLength: 64 })),
    response_code: answerParameter('The code of the verifier'),
  }),
  response: { ...responseAs(200, HTML_TYPE, Type.String()), ...redirects },
}

export const getInteractionRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'gone'),
  operationId: 'getInteraction',
  summary: 'The authorization that a wallet asks a person for',
  params: InteractionParams,
  response: jsonResponse(200, Interaction),
}

export const completeInteractionRoute = {
  ...applicationOperation,
  ...refusalCodes('not_found', 'gone', 'invalid_state'),
  operationId: 'completeInteraction',
  summary: 'Decide on an authorization; the answer says where the browser goes',
  params: InteractionParams,
  body: InteractionCompletion,
  response: jsonResponse(200, CompletedInteraction),
}
