/** The messages of OAuth 2.0, as schemas and types. RFC 6749 section 5.1, RFC 8414 section 2, RFC 9126. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { AuthorizationDetail, nonceMembers } from './oid4vci.ts'

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Union([Type.Literal('Bearer'), Type.Literal('DPoP')]),
    expires_in: Type.Integer({ description: 'Seconds' }),
    refresh_token: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String()),
    authorization_details: Type.Optional(Type.Array(AuthorizationDetail)),
    ...nonceMembers,
  },
  { title: 'TokenResponse' },
)
export type TokenResponse = Static<typeof TokenResponse>

export const AuthorizationServerMetadata = Type.Object(
  {
    issuer: Type.String(),
    authorization_endpoint: Type.Optional(Type.String()),
    pushed_authorization_request_endpoint: Type.Optional(Type.String({ description: 'RFC 9126' })),
    require_pushed_authorization_requests: Type.Optional(Type.Boolean()),
    token_endpoint: Type.String(),
    jwks_uri: Type.String(),
    scopes_supported: Type.Optional(Type.Array(Type.String())),
    response_types_supported: Type.Optional(Type.Array(Type.String())),
    response_modes_supported: Type.Optional(Type.Array(Type.String())),
    code_challenge_methods_supported: Type.Optional(Type.Array(Type.String(), { description: 'RFC 7636' })),
    authorization_response_iss_parameter_supported: Type.Optional(Type.Boolean({ description: 'RFC 9207' })),
    grant_types_supported: Type.Array(Type.String()),
    'pre-authorized_grant_anonymous_access_supported': Type.Boolean(),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    authorization_details_types_supported: Type.Array(Type.String()),
    dpop_signing_alg_values_supported: Type.Array(Type.String()),
    challenge_endpoint: Type.Optional(Type.String({ description: 'Attestation-Based Client Authentication' })),
    client_attestation_signing_alg_values_supported: Type.Optional(Type.Array(Type.String())),
    client_attestation_pop_signing_alg_values_supported: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'AuthorizationServerMetadata' },
)
export type AuthorizationServerMetadata = Static<typeof AuthorizationServerMetadata>

export const PushedAuthorizationResponse = Type.Object(
  { request_uri: Type.String(), expires_in: Type.Integer({ description: 'Seconds' }) },
  { title: 'PushedAuthorizationResponse', description: 'RFC 9126 section 2.2' },
)
export type PushedAuthorizationResponse = Static<typeof PushedAuthorizationResponse>
