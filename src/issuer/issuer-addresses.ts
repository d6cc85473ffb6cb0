/**
 * The addresses of the service: the paths of its endpoints and documents, and the credential issuer identifiers, one
 * for each session and one for the service. OpenID4VCI 1.0, Credential Issuer Identifier.
 */
import type { IssuerConfig } from './config.ts'

interface AddressConfig {
  readonly baseUrl: string
}

/**
 * The paths of the endpoints that the metadata, links and certificates name. Below some of them is the endpoint of each
 * session.
 */
export const ISSUER_PATHS = {
  credential: '/issuance/oid4vci/credential-request',
  nonce: '/issuance/oid4vci/nonce',
  deferredCredential: '/issuance/oid4vci/deferred-credential',
  notification: '/issuance/oid4vci/notification',
  offer: '/issuance/oid4vci/credential-offer',
  token: '/auth/token-endpoint',
  tokenKeys: '/auth/.well-known/jwks',
  challenge: '/auth/challenge',
  pushedRequest: '/auth/par',
  authorize: '/auth/authorize',
  browserReturn: '/auth/return',
  statusList: '/status-list',
  revocationList: '/issuer-ca.crl',
} as const

/** Tests whether each session has its own credential issuer identifier and metadata. */
export function hasIdentifierPerSession({ issuer }: Pick<IssuerConfig, 'issuer'>): boolean {
  return issuer.identifier === 'session'
}

/** Returns the identifier of the session, or of the service if `sessionId` is undefined. */
export function credentialIssuerIdentifier({ baseUrl }: AddressConfig, sessionId: string | undefined): string {
  return sessionId === undefined ? baseUrl : `${baseUrl}/${sessionId}`
}

/** Returns the identifiers that a wallet of the session may use. */
export function acceptedIdentifiers(config: AddressConfig, sessionId: string | undefined): readonly string[] {
  return [sessionId, undefined].map((id) => credentialIssuerIdentifier(config, id))
}

/**
 * Returns the accepted values of `aud` in key proofs and external access tokens. Each identifier is accepted with a
 * trailing slash too, because some wallets and servers add one to an origin.
 */
export function acceptedAudiences(config: AddressConfig, sessionId: string): readonly string[] {
  return acceptedIdentifiers(config, sessionId).flatMap((id) => [id, `${id}/`])
}

/** Returns the URL of an endpoint: that of the session, or that of the service if `sessionId` is undefined. */
export function endpointUrl(baseUrl: string, path: string, sessionId: string | undefined): string {
  return sessionId === undefined ? `${baseUrl}${path}` : `${baseUrl}${path}/${sessionId}`
}

/**
 * Returns the paths of a well-known document: that of the service, and those of a session with the well-known part
 * inserted (RFC 8414 section 3.1) and appended (drafts before the final specification).
 */
export function makeDocumentPaths(name: string): readonly [base: string, inserted: string, appended: string] {
  return [`/.well-known/${name}`, `/.well-known/${name}/:session_id`, `/:session_id/.well-known/${name}`]
}
