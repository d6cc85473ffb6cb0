/**
 * What the service says of itself to wallets: issuer metadata (OpenID4VCI 1.0, Credential Issuer Metadata), authorization
 * server metadata (RFC 8414) and the keys of its access tokens (RFC 7517). A document names the identifier that its
 * own URL derives from: that of a session, or the base.
 */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import type { Signer } from '../keys/signer.ts'
import { PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import type { AuthorizationServerMetadata } from '../protocol/oauth.ts'
import type { IssuerMetadata } from '../protocol/oid4vci.ts'
import { findSession } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { proofTypes } from './proof-types.ts'

/** Members of a configuration that tell us how to issue and wallets nothing. */
const INTERNAL_MEMBERS = [
  'selective_disclosure',
  'validity_seconds',
  'batch_size',
  'revocable',
  'key_attestations_required',
]

/** The credential issuer identifier of a session, or of the service. */
export function identifierOf({ config }: IssuerContext, sessionId: string | undefined): string {
  return sessionId === undefined ? config.baseUrl : `${config.baseUrl}/${sessionId}`
}

/** The configurations of the session, or every one. Refuses an unknown session with `not_found`. */
export async function issuerMetadata(context: IssuerContext, sessionId: string | undefined): Promise<IssuerMetadata> {
  const { config } = context
  const identifier = identifierOf(context, sessionId)
  return {
    credential_issuer: identifier,
    authorization_servers: [identifier],
    credential_endpoint: `${config.baseUrl}/issuance/oid4vci/credential-request`,
    nonce_endpoint: endpoint(config.baseUrl, '/issuance/oid4vci/nonce', sessionId),
    display: [{ name: config.issuer.display.name }],
    credential_configurations_supported: await shownConfigurations(context, sessionId),
  }
}

/** Refuses an unknown session with `not_found`. */
export async function authorizationServerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
): Promise<AuthorizationServerMetadata> {
  if (sessionId !== undefined) await findSession(context.store, sessionId)
  const { baseUrl } = context.config
  return {
    issuer: identifierOf(context, sessionId),
    token_endpoint: endpoint(baseUrl, '/auth/token-endpoint', sessionId),
    jwks_uri: `${baseUrl}/auth/.well-known/jwks`,
    grant_types_supported: [PRE_AUTHORIZED_GRANT],
    'pre-authorized_grant_anonymous_access_supported': true,
    token_endpoint_auth_methods_supported: ['none'],
  }
}

export function accessTokenKeys({ signer }: IssuerContext) {
  return { keys: [{ ...signer.jwk, kid: signer.kid, use: 'sig', alg: signer.alg }] }
}

async function shownConfigurations(
  context: IssuerContext,
  sessionId: string | undefined,
): Promise<Record<string, object>> {
  if (sessionId === undefined) {
    const all = await context.store.list('credential_configuration')
    return Object.fromEntries(
      all
        .filter(({ value }) => !value.removed)
        .map(({ id, value }) => [id, shown(value.configuration, context.signer)]),
    )
  }
  const { configurationIds } = await findSession(context.store, sessionId)
  const configurations = await Promise.all(configurationIds.map((id) => context.configuration(id)))
  return Object.fromEntries(
    configurationIds.map((id, index) => [id, shown(configurations[index] ?? {}, context.signer)]),
  )
}

/** A configuration as a wallet sees it: what was posted, what follows from our keys, and `mandatory` spelled out. */
function shown(configuration: JsonObject, signer: Signer): JsonObject {
  const posted = Object.entries(configuration).filter(([name]) => !INTERNAL_MEMBERS.includes(name))
  const metadata = own(configuration, 'credential_metadata')
  return {
    ...Object.fromEntries(posted),
    ...(isObject(metadata) ? { credential_metadata: { ...metadata, ...shownClaims(metadata) } } : {}),
    ...proofTypes(configuration),
    credential_signing_alg_values_supported: [signer.alg],
  }
}

function shownClaims(metadata: JsonObject): JsonObject {
  const claims = own(metadata, 'claims')
  if (!Array.isArray(claims)) return {}
  return { claims: claims.map((claim) => ({ mandatory: false, ...(claim as JsonObject) })) }
}

function endpoint(baseUrl: string, path: string, sessionId: string | undefined): string {
  return sessionId === undefined ? `${baseUrl}${path}` : `${baseUrl}${path}/${sessionId}`
}
