/** Wire objects of OAuth 2.0, as schemas and as types. RFC 6749 section 5.1, RFC 8414 section 2. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { AuthorizationDetail, draft13NonceMembers } from './oid4vci.ts'

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Union([Type.Literal('Bearer'), Type.Literal('DPoP')]),
    expires_in: Type.Integer({ description: 'Seconds' }),
    refresh_token: Type.Optional(Type.String()),
    authorization_details: Type.Optional(Type.Array(AuthorizationDetail)),
    ...draft13NonceMembers,
  },
  { title: 'TokenResponse' },
)
export type TokenResponse = Static<typeof TokenResponse>

export const AuthorizationServerMetadata = Type.Object(
  {
    issuer: Type.String(),
    token_endpoint: Type.String(),
    jwks_uri: Type.String(),
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
