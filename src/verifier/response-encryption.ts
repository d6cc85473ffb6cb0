/**
 * Encrypted responses: which sessions have them, the key of a session, and what comes out.
 * OpenID4VP 1.0, Encrypted Responses; HAIP 1.0, OpenID for Verifiable Presentations.
 */
import type { JsonObject } from '../codec/json.ts'
import { formatOf } from '../credential/formats.ts'
import { decryptJwe, jweEncryptions, publishedKey } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { type PrivateJwk, publicPartOf } from '../keys/private-jwk.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuseMalformed } from '../protocol/error.ts'
import type { ResponseMode } from '../protocol/oid4vp.ts'

/** The rule of the interface; a profile overrides it. A mixed query is encrypted as a whole. */
export function responseModeFor({ credentials }: DcqlQuery, profile: 'haip' | undefined): ResponseMode {
  const encrypted = profile === 'haip' || credentials.some(({ format }) => formatOf(format)?.wantsEncryptedResponse)
  return encrypted ? 'direct_post.jwt' : 'direct_post'
}

/** Returns the `client_metadata` of a session with this key: the key, for one response, and how to encrypt to it. */
export function responseEncryptionMetadata(key: PrivateJwk): JsonObject {
  return {
    jwks: { keys: [publishedKey(publicPartOf(key), kidOf(key))] },
    encrypted_response_enc_values_supported: [...jweEncryptions],
  }
}

/** RFC 7638 thumbprint, which a presentation of an mdoc is bound to. OpenID4VP 1.0, Handover and SessionTranscript. */
export function responseKeyThumbprint(key: PrivateJwk): Uint8Array {
  return Buffer.from(kidOf(key), 'base64url')
}

/** Returns the members of an encrypted response. Refuses with `invalid_request`, saying what is wrong with the JWE. */
export function openResponse(jwe: string, key: PrivateJwk, maxBytes: number): Promise<JsonObject> {
  const decryption = { keys: [{ key, kid: kidOf(key) }], encs: jweEncryptions, maxBytes }
  return decryptJwe(jwe, decryption).catch((error: unknown) => refuseMalformed('invalid_request', 'response', error))
}

/** A key has the name that its value gives it, so that no two of them share one. */
function kidOf(key: PrivateJwk): string {
  return thumbprint(publicPartOf(key))
}
