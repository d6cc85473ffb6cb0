/** Wire objects of OAuth 2.0 that we send and a wallet reads. RFC 6749 section 5.1, RFC 8414 section 2. */

export type TokenResponse = {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
}

export type AuthorizationServerMetadata = {
  readonly issuer: string
  readonly token_endpoint: string
  readonly jwks_uri: string
  readonly grant_types_supported: readonly string[]
  readonly 'pre-authorized_grant_anonymous_access_supported': boolean
  readonly token_endpoint_auth_methods_supported: readonly string[]
}
