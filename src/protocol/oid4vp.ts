/** Constants of OpenID4VP 1.0 that the verifier writes and the wallet reads. */

/** The `aud` of a request object for wallets whose metadata a verifier does not know. OpenID4VP 1.0, aud of a Request Object. */
export const STATIC_AUDIENCE = 'https://self-issued.me/v2'

/** A client identifier: this, and the SHA-256 of the verifier's certificate. OpenID4VP 1.0, Client Identifier Prefixes. */
export const X509_HASH_PREFIX = 'x509_hash:'

/** Whether a response is encrypted. OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt. */
export type ResponseMode = 'direct_post' | 'direct_post.jwt'

/** The content encryption of a response whose request names none. OpenID4VP 1.0, Encrypted Responses. */
export const DEFAULT_ENCRYPTION = 'A128GCM'
