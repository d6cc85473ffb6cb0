/**
 * The metadata of the authorization server (RFC 8414) and the JWK Set of access tokens (RFC 7517). The metadata has the
 * identifier that matches its URL: that of a session, or that of the service.
 */
import type { CodeFlowConfig } from '../config/authentication.ts'
import type { ClientAuthentication } from '../config/client-authentication.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant-types.ts'
import type { AuthorizationServerMetadata } from '../protocol/oauth.ts'
import { AUTHORIZATION_DETAIL_TYPE } from './access/authorization-details.ts'
import { requireIssuanceSession } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import { groupByScope } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { credentialIssuerIdentifier, endpointUrl, ISSUER_PATHS } from './issuer-addresses.ts'

/** Makes the metadata of the authorization server. Refuses with `not_found` an unknown session. */
export async function makeAuthorizationServerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
): Promise<AuthorizationServerMetadata> {
  const session = sessionId === undefined ? undefined : await requireIssuanceSession(context.store, sessionId)
  const { baseUrl, codeFlow, clientAuthentication, tokenAlgorithms } = context.config
  return {
    issuer: credentialIssuerIdentifier(context.config, sessionId),
    ...(codeFlow && (await makeCodeFlowMetadata(context, codeFlow, sessionId, session?.configurationIds))),
    token_endpoint: endpointUrl(baseUrl, ISSUER_PATHS.token, sessionId),
    jwks_uri: baseUrl + ISSUER_PATHS.tokenKeys,
    grant_types_supported: supportedGrants(context.config),
    'pre-authorized_grant_anonymous_access_supported': clientAuthentication?.required !== true,
    token_endpoint_auth_methods_supported: listAuthenticationMethods(clientAuthentication),
    authorization_details_types_supported: [AUTHORIZATION_DETAIL_TYPE],
    dpop_signing_alg_values_supported: [...tokenAlgorithms],
    ...(clientAuthentication && {
      challenge_endpoint: baseUrl + ISSUER_PATHS.challenge,
      client_attestation_signing_alg_values_supported: [...tokenAlgorithms],
      client_attestation_pop_signing_alg_values_supported: [...tokenAlgorithms],
    }),
  }
}

/** Returns the grant types that the token endpoint takes. */
export function supportedGrants({ codeFlow, profile }: IssuerConfig): string[] {
  return [
    ...(codeFlow ? [AUTHORIZATION_CODE_GRANT] : []),
    ...(profile === undefined ? [PRE_AUTHORIZED_GRANT] : []),
    REFRESH_GRANT,
  ]
}

/**
 * Makes `token_endpoint_auth_methods_supported`. Attestation-Based Client Authentication, Authorization Server
 * Metadata.
 */
function listAuthenticationMethods(settings: ClientAuthentication | undefined): string[] {
  return [
    ...(settings?.required === true ? [] : ['none']),
    ...(settings === undefined ? [] : ['attest_jwt_client_auth']),
  ]
}

/** Makes the members for the authorization code flow. RFC 8414 section 2, RFC 9126 section 5, RFC 9207 section 3. */
async function makeCodeFlowMetadata(
  context: IssuerContext,
  { pushedRequired }: CodeFlowConfig,
  sessionId: string | undefined,
  configurationIds: readonly string[] | undefined,
): Promise<Partial<AuthorizationServerMetadata>> {
  const { baseUrl } = context.config
  const idsByScope =
    configurationIds === undefined
      ? (await context.offeredConfigurationsText.get()).idsByScope
      : await groupByScope(context, configurationIds)
  return {
    authorization_endpoint: endpointUrl(baseUrl, ISSUER_PATHS.authorize, sessionId),
    pushed_authorization_request_endpoint: endpointUrl(baseUrl, ISSUER_PATHS.pushedRequest, sessionId),
    require_pushed_authorization_requests: pushedRequired,
    // RFC 8414 section 3.2: an empty array is left out.
    ...(idsByScope.size > 0 && { scopes_supported: [...idsByScope.keys()] }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** Returns the JWK Set of the access token keys. RFC 7517 section 5. */
export function accessTokenKeys({ keys }: IssuerContext) {
  return { keys: keys.accessTokenSigners.map(({ jwk, kid, alg }) => ({ ...jwk, kid, use: 'sig', alg })) }
}
