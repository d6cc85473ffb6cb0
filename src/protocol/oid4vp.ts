/** Constants of OpenID4VP 1.0 that the verifier writes and the wallet reads. */

/** The `aud` of a request object for wallets whose metadata a verifier does not know. OpenID4VP 1.0, aud of a Request Object. */
export const STATIC_AUDIENCE = 'https://self-issued.me/v2'

/** A client identifier: this, and the SHA-256 of the verifier's certificate. OpenID4VP 1.0, Client Identifier Prefixes. */
export const X509_HASH_PREFIX = 'x509_hash:'

/** Whether a response is encrypted. OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt. */
export type ResponseMode = 'direct_post' | 'direct_post.jwt'

/** The content encryption of a response whose request names none. OpenID4VP 1.0, Encrypted Responses. */
export const DEFAULT_ENCRYPTION = 'A128GCM'

/**
 * The `error` values that a wallet may answer a request with. OpenID4VP 1.0, Error Response; RFC 6749 section 4.1.2.1; and the rest of the
 * OAuth Extensions Error Registry that is for authorization endpoints.
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
