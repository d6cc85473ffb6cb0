/** Encrypting what the wallet answers, to the key that the request brings. OpenID4VP 1.0, Encrypted Responses. */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Encryption, encryptJwe, type JweEncryption, jweEncryptions, readEncryptionKey } from '../keys/jwe.ts'
import { thumbprint } from '../keys/jwk.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import { refuse } from './error.ts'

const MAX_KEYS = 10

/** How to encrypt, by the first key that we can use. Refuses with `unsupported` where there is none. */
export function readEncryption(payload: JsonObject): Encryption {
  const metadata = own(payload, 'client_metadata')
  const jwks = isObject(metadata) ? own(metadata, 'jwks') : undefined
  const keys = isObject(jwks) ? own(jwks, 'keys') : undefined
  const problems: string[] = []
  for (const value of Array.isArray(keys) ? keys.slice(0, MAX_KEYS) : []) {
    try {
      return { ...readEncryptionKey(value), enc: chooseEncryption(isObject(metadata) ? metadata : {}) }
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      problems.push(error.message)
    }
  }
  return refuse(
    'unsupported',
    `the verifier wants an encrypted answer, and the request has no key for that which this wallet can use (${problems.join('; ') || 'client_metadata.jwks has none'})`,
  )
}

/** What a presentation in the encrypted response is bound to: RFC 7638, in bytes. */
export function thumbprintOf({ jwk }: Encryption): Uint8Array {
  return Buffer.from(thumbprint(jwk), 'base64url')
}

/** The members of a response as the one parameter of its form. */
export async function encryptMembers(members: object, encryption: Encryption): Promise<{ readonly response: string }> {
  return { response: await encryptJwe(JSON.stringify(members), encryption) }
}

/** The stronger one where the verifier takes it. */
function chooseEncryption(metadata: JsonObject): JweEncryption {
  const offered = own(metadata, 'encrypted_response_enc_values_supported') ?? [DEFAULT_ENCRYPTION]
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(offered) && offered.includes(enc)) ??
    refuse(
      'unsupported',
      `the verifier wants an encrypted answer, and takes none of ${strongestFirst.join(', ')} (encrypted_response_enc_values_supported)`,
    )
  )
}
