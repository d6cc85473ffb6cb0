/**
 * What the service says of itself to wallets: issuer metadata (OpenID4VCI 1.0, Credential Issuer Metadata), authorization
 * server metadata (RFC 8414) and the keys of its access tokens (RFC 7517). A document names the identifier that its
 * own URL derives from: that of a session, or the base.
 */
import { joseAlgorithms } from '../keys/algorithm.ts'
import type { Signer } from '../keys/signer.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant.ts'
import type { AuthorizationServerMetadata } from '../protocol/oauth.ts'
import type { IssuerMetadata } from '../protocol/oid4vci.ts'
import { findSession, type IssuerStore } from './collections.ts'
import type { IssuerContext, Offered } from './context.ts'
import { largestBatch } from './credential-endpoint/batch.ts'
import { encryptionMetadata } from './credential-endpoint/encryption.ts'
import { olderConfiguration, shownConfiguration } from './shown-configuration.ts'
import { DETAIL_TYPE } from './token-endpoint/authorization-details.ts'

/** Drafts before the final specification appended the well-known path, so that its place tells for whom a document is. */
export type Shape = 'final' | 'older'

/** The credential issuer identifier of a session, or of the service. */
export function identifierOf({ config }: IssuerContext, sessionId: string | undefined): string {
  return sessionId === undefined ? config.baseUrl : `${config.baseUrl}/${sessionId}`
}

/** With the configurations of the session, or with every one. Refuses an unknown session with `not_found`. */
export async function issuerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
  shape: Shape,
): Promise<IssuerMetadata> {
  const { config } = context
  const identifier = identifierOf(context, sessionId)
  const { shown, batchSize } = await (sessionId === undefined
    ? context.offeredConfigurations.get()
    : sessionConfigurations(context, sessionId, shape))
  return {
    credential_issuer: identifier,
    authorization_servers: [config.authorizationServer?.issuer ?? identifier],
    credential_endpoint: `${config.baseUrl}/issuance/oid4vci/credential-request`,
    nonce_endpoint: endpoint(config.baseUrl, '/issuance/oid4vci/nonce', sessionId),
    deferred_credential_endpoint: `${config.baseUrl}/issuance/oid4vci/deferred-credential`,
    notification_endpoint: endpoint(config.baseUrl, '/issuance/oid4vci/notification', sessionId),
    ...(batchSize > 1 ? { batch_credential_issuance: { batch_size: batchSize } } : {}),
    // Wallets of the drafts would ask for encrypted responses without encrypting their requests.
    ...(shape === 'final' ? encryptionMetadata(context) : {}),
    display: [{ name: config.issuer.display.name }],
    credential_configurations_supported: shown,
  }
}

/** Every configuration that is not removed. */
export async function offeredConfigurations(store: IssuerStore, signer: Signer): Promise<Offered> {
  const offered = (await store.list('credential_configuration')).filter(({ value }) => !value.removed)
  return {
    shown: Object.fromEntries(offered.map(({ id, value }) => [id, shownConfiguration(value.configuration, signer)])),
    batchSize: largestBatch(offered.map(({ value }) => value.configuration)),
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
    grant_types_supported: [PRE_AUTHORIZED_GRANT, REFRESH_GRANT],
    'pre-authorized_grant_anonymous_access_supported': true,
    token_endpoint_auth_methods_supported: ['none'],
    authorization_details_types_supported: [DETAIL_TYPE],
    dpop_signing_alg_values_supported: [...joseAlgorithms],
  }
}

export function accessTokenKeys({ signer }: IssuerContext) {
  return { keys: [{ ...signer.jwk, kid: signer.kid, use: 'sig', alg: signer.alg }] }
}

async function sessionConfigurations(context: IssuerContext, sessionId: string, shape: Shape): Promise<Offered> {
  const { configurationIds } = await findSession(context.store, sessionId)
  const shown = await Promise.all(
    configurationIds.map((id) => (shape === 'final' ? context.shownConfiguration(id) : shownAsBefore(context, id))),
  )
  return {
    shown: Object.fromEntries(configurationIds.flatMap((id, index) => (shown[index] ? [[id, shown[index]]] : []))),
    batchSize: largestBatch(await Promise.all(configurationIds.map((id) => context.configuration(id)))),
  }
}

async function shownAsBefore({ configuration, signer, config }: IssuerContext, id: string) {
  const posted = await configuration(id)
  return posted && olderConfiguration(posted, signer, config.draft13)
}

function endpoint(baseUrl: string, path: string, sessionId: string | undefined): string {
  return sessionId === undefined ? `${baseUrl}${path}` : `${baseUrl}${path}/${sessionId}`
}

/**
 * Where a well-known document is found: of the base, at the URL that a session's identifier leads to, and where drafts
 * before the final specification appended it. RFC 8414 section 3.1.
 */
export function documentPaths(name: string): readonly [base: string, inserted: string, appended: string] {
  return [`/.well-known/${name}`, `/.well-known/${name}/:session_id`, `/:session_id/.well-known/${name}`]
}
