/**
 * Encrypted responses: which sessions require them, the key of a session, and the decryption of a response. OpenID4VP
 * 1.0, Encrypted Responses; HAIP 1.0, OpenID for Verifiable Presentations.
 */
import type { JsonObject } from '../codec/json.ts'
import { formatOf } from '../credential/formats.ts'
import { decryptJwe, jweEncryptions, makeEncryptionJwk } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { type PrivateJwk, publicPartOf } from '../keys/private-jwk.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuseMalformed } from '../protocol/error.ts'
import type { ResponseMode } from '../protocol/oid4vp.ts'

/**
 * Returns the response mode for a query. The response is encrypted under HAIP, or if a requested format requires it.
 */
export function chooseResponseMode({ credentials }: DcqlQuery, profile: 'haip' | undefined): ResponseMode {
  const encrypted = profile === 'haip' || credentials.some(({ format }) => formatOf(format)?.requiresEncryptedResponse)
  return encrypted ? 'direct_post.jwt' : 'direct_post'
}

/** Makes `client_metadata` of a session: the public key for its response, and the supported encryption. */
export function responseEncryptionMetadata(key: PrivateJwk): JsonObject {
  return {
    jwks: { keys: [makeEncryptionJwk(publicPartOf(key), kidOf(key))] },
    encrypted_response_enc_values_supported: [...jweEncryptions],
  }
}

/** Returns the JWK thumbprint for the session transcript of an mdoc. OpenID4VP 1.0, Handover and SessionTranscript. */
export function responseKeyThumbprint(key: PrivateJwk): Uint8Array {
  return Buffer.from(kidOf(key), 'base64url')
}

/** Decrypts a response and returns its members. Refuses with `invalid_request` an invalid JWE. */
export function decryptResponse(jwe: string, key: PrivateJwk, maxBytes: number): Promise<JsonObject> {
  const decryption = { keys: [{ key, kid: kidOf(key) }], encs: jweEncryptions, maxBytes }
  return decryptJwe(jwe, decryption).catch((error: unknown) => refuseMalformed('invalid_request', 'response', error))
}

/** Returns the thumbprint of a key, as its unique `kid`. */
function kidOf(key: PrivateJwk): string {
  return thumbprint(publicPartOf(key))
}
