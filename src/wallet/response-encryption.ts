/** Encrypts the response with the verifier's key in the request. OpenID4VP 1.0, Encrypted Responses. */
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import { encryptJwe, findEncryptionKey, type JweEncryption, type JweParameters, jweEncryptions } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import { refuseWith } from './error.ts'

/** Selects the first supported key. Refuses with `unsupported` if there is none. */
export function readEncryption(payload: JsonObject): JweParameters {
  const metadata = memberOf(payload, 'client_metadata')
  const clientMetadata = isObject(metadata) ? metadata : {}
  const key = findEncryptionKey(memberOf(clientMetadata, 'jwks'))
  if (!('problems' in key)) return { ...key, enc: chooseVerifierEncryption(clientMetadata) }
  const reason = key.problems.join('; ') || 'client_metadata.jwks has none'
  return refuseWith(
    'unsupported',
    `the verifier wants an encrypted answer, and the request has no key for that which this wallet can use (${reason})`,
  )
}

/** Returns the JWK thumbprint (RFC 7638) as bytes, which an mdoc presentation is bound to. */
export function hashEncryptionKey({ jwk }: JweParameters): Uint8Array {
  return Buffer.from(thumbprint(jwk), 'base64url')
}

/** Encrypts the members of a response, as the form parameter `response`. */
export async function encryptMembers(
  members: object,
  encryption: JweParameters,
): Promise<{ readonly response: string }> {
  return { response: await encryptJwe(JSON.stringify(members), encryption) }
}

function chooseVerifierEncryption(metadata: JsonObject): JweEncryption {
  const name = 'encrypted_response_enc_values_supported'
  const verifier = 'the verifier wants an encrypted answer, and'
  return chooseEncryption(memberOf(metadata, name) ?? [DEFAULT_ENCRYPTION], verifier, name)
}

/**
 * Selects the strongest encryption of those in the member `name` of `recipient`. Refuses with `unsupported` if none is
 * supported.
 */
export function chooseEncryption(values: Json | undefined, recipient: string, name: string): JweEncryption {
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(values) && values.includes(enc)) ??
    refuseWith('unsupported', `${recipient} takes none of ${strongestFirst.join(', ')} (${name})`)
  )
}
