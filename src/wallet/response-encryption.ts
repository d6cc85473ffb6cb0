/** Encrypts the response of the wallet to the key in the request. OpenID4VP 1.0, Encrypted Responses. */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import { encryptJwe, findEncryptionKey, type JweEncryption, type JweParameters, jweEncryptions } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import { abort } from './error.ts'

/** Chooses the encryption with the first usable key. Refuses with `unsupported` when there is none. */
export function readEncryption(payload: JsonObject): JweParameters {
  const metadata = own(payload, 'client_metadata')
  const offered = isObject(metadata) ? metadata : {}
  const key = findEncryptionKey(own(offered, 'jwks'))
  if (!('problems' in key)) return { ...key, enc: chooseEncryption(offered) }
  const why = key.problems.join('; ') || 'client_metadata.jwks has none'
  return abort(
    'unsupported',
    `the verifier wants an encrypted answer, and the request has no key for that which this wallet can use (${why})`,
  )
}

/**
 * Returns the thumbprint of the key (RFC 7638, in bytes), to which a presentation in the encrypted response is bound.
 */
export function hashEncryptionKey({ jwk }: JweParameters): Uint8Array {
  return Buffer.from(thumbprint(jwk), 'base64url')
}

/** Encrypts the members of a response into the single parameter of its form. */
export async function encryptMembers(
  members: object,
  encryption: JweParameters,
): Promise<{ readonly response: string }> {
  return { response: await encryptJwe(JSON.stringify(members), encryption) }
}

/** Chooses the strongest encryption that the verifier supports. */
function chooseEncryption(metadata: JsonObject): JweEncryption {
  const offered = own(metadata, 'encrypted_response_enc_values_supported') ?? [DEFAULT_ENCRYPTION]
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(offered) && offered.includes(enc)) ??
    abort(
      'unsupported',
      `the verifier wants an encrypted answer, and takes none of ${strongestFirst.join(', ')} (encrypted_response_enc_values_supported)`,
    )
  )
}
