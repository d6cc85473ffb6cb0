/** Encrypts the response of the wallet to the key in the request. OpenID4VP 1.0, Encrypted Responses. */
import { isObject, type Json, type JsonObject, own } from '../codec/json.ts'
import { encryptJwe, findEncryptionKey, type JweEncryption, type JweParameters, jweEncryptions } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import { refuseWith } from './error.ts'

/** Chooses the encryption with the first usable key. Refuses with `unsupported` when there is none. */
export function readEncryption(payload: JsonObject): JweParameters {
  const metadata = own(payload, 'client_metadata')
  const clientMetadata = isObject(metadata) ? metadata : {}
  const key = findEncryptionKey(own(clientMetadata, 'jwks'))
  if (!('problems' in key)) return { ...key, enc: chooseVerifierEncryption(clientMetadata) }
  const reason = key.problems.join('; ') || 'client_metadata.jwks has none'
  return refuseWith(
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

function chooseVerifierEncryption(metadata: JsonObject): JweEncryption {
  const name = 'encrypted_response_enc_values_supported'
  const verifier = 'the verifier wants an encrypted answer, and'
  return chooseEncryption(own(metadata, name) ?? [DEFAULT_ENCRYPTION], verifier, name)
}

/**
 * Chooses the strongest of the encryptions that `recipient` supports in its member `name`. Refuses with `unsupported`
 * when this wallet has none of them.
 */
export function chooseEncryption(values: Json | undefined, recipient: string, name: string): JweEncryption {
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(values) && values.includes(enc)) ??
    refuseWith('unsupported', `${recipient} takes none of ${strongestFirst.join(', ')} (${name})`)
  )
}
