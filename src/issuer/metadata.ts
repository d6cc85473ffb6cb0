/**
 * The metadata for wallets: issuer metadata (OpenID4VCI 1.0, Credential Issuer Metadata), authorization server metadata
 * (RFC 8414) and the JWK Set of access tokens (RFC 7517). A document has the identifier that matches its URL: that of a
 * session, or that of the service.
 */
import { hash } from 'node:crypto'
import type { CodeFlowConfig } from '../config/authentication.ts'
import type { ClientAuthentication } from '../config/client-authentication.ts'
import type { PublicDocument } from '../http/document.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant.ts'
import type { AuthorizationServerMetadata } from '../protocol/oauth.ts'
import type { IssuerMetadata } from '../protocol/oid4vci.ts'
import { DETAIL_TYPE } from './access/authorization-details.ts'
import { findIssuanceSession } from './collections.ts'
import type { ConfigurationsMember, IssuerContext, MetadataVersion } from './context.ts'
import { issuerEncryptionMetadata } from './credential-endpoint/encryption.ts'
import { draft15EncryptionMetadata } from './credential-endpoint/older-drafts.ts'
import { credentialIssuerIdentifier } from './issuer-identifier.ts'

/** The length of an entity tag: 16 bytes of a digest in base64url. */
const ETAG_LENGTH = 22

/** Makes the issuer metadata of a session, or of the service. Refuses with `not_found` an unknown session. */
export async function makeIssuerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
  version: MetadataVersion,
): Promise<PublicDocument> {
  const { config } = context
  const identifier = credentialIssuerIdentifier(context.config, sessionId)
  const { json, digest, batchSize } = await (sessionId === undefined
    ? context.offeredConfigurations.get()
    : makeSessionConfigurationsMember(context, sessionId, version))
  const members: Omit<IssuerMetadata, 'credential_configurations_supported'> = {
    credential_issuer: identifier,
    authorization_servers: [config.authorizationServer?.issuer ?? identifier],
    credential_endpoint: `${config.baseUrl}/issuance/oid4vci/credential-request`,
    nonce_endpoint: endpointUrl(config.baseUrl, '/issuance/oid4vci/nonce', sessionId),
    deferred_credential_endpoint: `${config.baseUrl}/issuance/oid4vci/${version === 'final' ? '' : 'draft15/'}deferred-credential`,
    notification_endpoint: endpointUrl(config.baseUrl, '/issuance/oid4vci/notification', sessionId),
    ...(batchSize > 1 ? { batch_credential_issuance: { batch_size: batchSize } } : {}),
    ...(version === 'final' ? issuerEncryptionMetadata(context) : draft15EncryptionMetadata(context)),
    display: [{ name: config.issuer.display.name }],
    ...(version === 'final' && issuerInformation(config.registrationCertificate)),
  }
  const head = `${JSON.stringify(members).slice(0, -1)},"credential_configurations_supported":`
  const etag = `"${hash('sha256', head + digest, 'base64url').slice(0, ETAG_LENGTH)}"`
  return { etag, parts: [Buffer.from(head), json, Buffer.from('}')] }
}

/** Makes the Issuer Information of ETSI TS 119 472-3, in the format of ETSI TS 119 472-2. */
function issuerInformation(data: string | undefined): Pick<IssuerMetadata, 'issuer_info'> {
  return data === undefined ? {} : { issuer_info: [{ format: 'registration_cert', data }] }
}

/** Makes the metadata of the authorization server. Refuses with `not_found` an unknown session. */
export async function makeAuthorizationServerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
): Promise<AuthorizationServerMetadata> {
  const session = sessionId === undefined ? undefined : await findIssuanceSession(context.store, sessionId)
  const { baseUrl, codeFlow, clientAuthentication, profile, tokenAlgorithms } = context.config
  return {
    issuer: credentialIssuerIdentifier(context.config, sessionId),
    ...(codeFlow && (await makeCodeFlowMetadata(context, codeFlow, sessionId, session?.configurationIds))),
    token_endpoint: endpointUrl(baseUrl, '/auth/token-endpoint', sessionId),
    jwks_uri: `${baseUrl}/auth/.well-known/jwks`,
    grant_types_supported: [
      ...(codeFlow ? [AUTHORIZATION_CODE_GRANT] : []),
      ...(profile === undefined ? [PRE_AUTHORIZED_GRANT] : []),
      REFRESH_GRANT,
    ],
    'pre-authorized_grant_anonymous_access_supported': clientAuthentication?.required !== true,
    token_endpoint_auth_methods_supported: listAuthenticationMethods(clientAuthentication),
    authorization_details_types_supported: [DETAIL_TYPE],
    dpop_signing_alg_values_supported: [...tokenAlgorithms],
    ...(clientAuthentication && {
      challenge_endpoint: `${baseUrl}/auth/challenge`,
      client_attestation_signing_alg_values_supported: [...tokenAlgorithms],
      client_attestation_pop_signing_alg_values_supported: [...tokenAlgorithms],
    }),
  }
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
  const { idsByScope } = await (configurationIds === undefined
    ? context.offeredConfigurations.get()
    : context.makeConfigurationsMember(configurationIds, 'final'))
  return {
    authorization_endpoint: endpointUrl(baseUrl, '/auth/authorize', sessionId),
    pushed_authorization_request_endpoint: endpointUrl(baseUrl, '/auth/par', sessionId),
    require_pushed_authorization_requests: pushedRequired,
    scopes_supported: [...idsByScope.keys()],
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

async function makeSessionConfigurationsMember(
  context: IssuerContext,
  sessionId: string,
  version: MetadataVersion,
): Promise<ConfigurationsMember> {
  const { configurationIds } = await findIssuanceSession(context.store, sessionId)
  return context.makeConfigurationsMember(configurationIds, version)
}

function endpointUrl(baseUrl: string, path: string, sessionId: string | undefined): string {
  return sessionId === undefined ? `${baseUrl}${path}` : `${baseUrl}${path}/${sessionId}`
}

/**
 * Returns the paths of a well-known document: that of the service, and those of a session with the well-known part
 * inserted (RFC 8414 section 3.1) and appended (drafts before the final specification).
 */
export function makeDocumentPaths(name: string): readonly [base: string, inserted: string, appended: string] {
  return [`/.well-known/${name}`, `/.well-known/${name}/:session_id`, `/:session_id/.well-known/${name}`]
}
