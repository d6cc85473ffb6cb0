/** Encrypts the response of the wallet to the key in the request. OpenID4VP 1.0, Encrypted Responses. */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import { encryptJwe, findEncryptionKey, type JweEncryption, type JweParameters, jweEncryptions } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import { abort } from './error.ts'

/** Chooses the encryption with the first usable key. Refuses with `unsupported` when there is none. */
export function readEncryption(payload: JsonObject): JweParameters {
  const metadata = own(payload, 'client_metadata')
  const clientMetadata = isObject(metadata) ? metadata : {}
  const key = findEncryptionKey(own(clientMetadata, 'jwks'))
  if (!('problems' in key)) return { ...key, enc: chooseEncryption(clientMetadata) }
  const reason = key.problems.join('; ') || 'client_metadata.jwks has none'
  return abort(
    'unsupported',
    `the verifier wants an encrypted answer, and the request has no key for that which this wallet can use (${reason})`,
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
  const encryptionNames = own(metadata, 'encrypted_response_enc_values_supported') ?? [DEFAULT_ENCRYPTION]
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(encryptionNames) && encryptionNames.includes(enc)) ??
    abort(
      'unsupported',
      `the verifier wants an encrypted answer, and takes none of ${strongestFirst.join(', ')} (encrypted_response_enc_values_supported)`,
    )
  )
}
