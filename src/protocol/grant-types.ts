/** The supported grant types. They are not in `oid4vci.ts` so that a wallet does not load its schemas. */

/** The grant type of the pre-authorized code. OpenID4VCI 1.0, Pre-Authorized Code Flow. */
export const PRE_AUTHORIZED_GRANT = 'urn:ietf:params:oauth:grant-type:pre-authorized_code'

/** The grant type of the authorization code. OpenID4VCI 1.0, Authorization Code Flow. */
export const AUTHORIZATION_CODE_GRANT = 'authorization_code'

/** The grant type of a refresh token. RFC 6749 section 6. */
export const REFRESH_GRANT = 'refresh_token'
