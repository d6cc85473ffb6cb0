/** The schemas of the routes of `routes.ts`. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { jsonResponse, refusalCodes, sentHeaders, walletOperation } from '../../http/openapi-responses.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../../protocol/grant-types.ts'
import { TokenResponse } from '../../protocol/oauth.ts'
import { JwkSet } from '../../protocol/oid4vci.ts'

/** The parameters of a token request. The code refuses a missing one with the OAuth error; unknown ones are ignored. */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.Optional(
      Type.String({ description: [PRE_AUTHORIZED_GRANT, AUTHORIZATION_CODE_GRANT, REFRESH_GRANT].join(', ') }),
    ),
    'pre-authorized_code': Type.Optional(Type.String()),
    tx_code: Type.Optional(Type.String({ description: 'What the holder typed in, where the offer asks for it' })),
    code: Type.Optional(Type.String({ description: 'From the authorization response' })),
    redirect_uri: Type.Optional(Type.String({ description: 'With code: that of the authorization request' })),
    code_verifier: Type.Optional(Type.String({ description: 'With code' })),
    client_id: Type.Optional(
      Type.String({
        description:
          'With code, and with a refresh token that came of one; the `sub` of a wallet attestation beside the request',
      }),
    ),
    refresh_token: Type.Optional(Type.String({ description: 'From a token response, with its grant type' })),
    scope: Type.Optional(Type.String({ description: 'With a refresh token, for a part of what was granted' })),
    authorization_details: Type.Optional(
      Type.String({ description: 'JSON: [{"type": "openid_credential", "credential_configuration_id"}]' }),
    ),
  },
  { title: 'TokenRequest' },
)
export type TokenRequest = Static<typeof TokenRequest>

export const tokenRoute = {
  ...walletOperation,
  ...refusalCodes(
    'invalid_grant',
    'unsupported_grant_type',
    'invalid_scope',
    'invalid_authorization_details',
    'invalid_dpop_proof',
    'use_dpop_nonce',
    'invalid_client',
    'invalid_client_attestation',
    'use_attestation_challenge',
  ),
  operationId: 'requestToken',
  summary: 'Redeem a pre-authorized code, an authorization code or a refresh token',
  consumes: ['application/x-www-form-urlencoded'],
  body: TokenRequest,
  response: jsonResponse(200, TokenResponse),
}

export const challengeRoute = {
  ...walletOperation,
  ...refusalCodes('not_found'),
  ...sentHeaders('DPoP-Nonce'),
  operationId: 'createAttestationChallenge',
  summary: 'A challenge for the proof beside a wallet attestation',
  response: jsonResponse(200, Type.Object({ attestation_challenge: Type.String() })),
}

export const tokenKeysRoute = {
  ...walletOperation,
  operationId: 'getTokenKeys',
  summary: 'The public keys of access tokens',
  response: jsonResponse(200, JwkSet),
}
