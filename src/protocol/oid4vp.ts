/** Constants of OpenID4VP 1.0 for the verifier and the wallet. */
import type { ISO_MDOC } from './iso-mdoc.ts'

/** The `aud` of request objects for static discovery. OpenID4VP 1.0, aud of a Request Object. */
export const STATIC_AUDIENCE = 'https://self-issued.me/v2'

/**
 * The client identifier prefix for the SHA-256 hash of the verifier's certificate. OpenID4VP 1.0, Client Identifier
 * Prefixes.
 */
export const X509_HASH_PREFIX = 'x509_hash:'

/** The prefix of an origin as an audience. OpenID4VP 1.0, appendix A, Response. */
export const ORIGIN_PREFIX = 'origin:'

/**
 * The response modes: the wallet posts the response, unencrypted or encrypted, or gives it encrypted to the browser.
 * OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt; appendix A, OpenID4VP over the Digital Credentials API.
 * The protocol `org-iso-mdoc` has no response modes, and is here the one by which a response came.
 */
export type ResponseMode = 'direct_post' | 'direct_post.jwt' | 'dc_api.jwt' | typeof ISO_MDOC

/** The exchange protocols of signed and unsigned requests through the browser. OpenID4VP 1.0, appendix A, Protocol. */
export const EXCHANGE_PROTOCOLS = { signed: 'openid4vp-v1-signed', unsigned: 'openid4vp-v1-unsigned' } as const

/** The default content encryption. OpenID4VP 1.0, Encrypted Responses. */
export const DEFAULT_ENCRYPTION = 'A128GCM'

/**
 * The registered error codes of authorization responses. OpenID4VP 1.0, Error Response; RFC 6749 section 4.1.2.1; OAuth
 * Extensions Error Registry.
 */
export const authorizationErrors: ReadonlySet<string> = new Set([
  'access_denied',
  'invalid_client',
  'invalid_request',
  'invalid_request_uri_method',
  'invalid_scope',
  'invalid_transaction_data',
  'vp_formats_not_supported',
  'wallet_unavailable',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_authorization_details',
  'invalid_request_object',
  'invalid_request_uri',
  'invalid_target',
  'login_required',
  'registration_not_supported',
  'request_not_supported',
  'request_uri_not_supported',
  'unmet_authentication_requirements',
])
