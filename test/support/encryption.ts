/** Encrypted requests and responses as a wallet makes them, and as an attacker would like to. */
import { CompactEncrypt, importJWK, type JWK } from 'jose'
import type { JsonObject } from '../../src/codec/json.ts'
import type { RequestObject } from './wire.ts'

/** The public key of the example in OpenID4VP 1.0, Encrypted Responses. */
export const EXAMPLE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'YO4epjifD-KWeq1sL2tNmm36BhXnkJ0He-WqMYrp9Fk',
  y: 'Hekpm0zfK7C-YccH5iBjcIXgf6YdUvNUac_0At55Okk',
  alg: 'ECDH-ES',
  use: 'enc',
  kid: 'k1',
}

export interface JweParts {
  readonly header?: Readonly<Record<string, unknown>>
  /** The key of somebody else, to whom the message is encrypted. */
  readonly jwk?: JWK
  /** The plaintext, when it is not the JSON of the members. */
  readonly plaintext?: string
}

/** Returns the key of the request, with all its members. */
export function responseKey(request: RequestObject): JWK & { readonly kid: string } {
  const metadata: { jwks?: { keys: [JWK & { kid: string }] } } | undefined = request.client_metadata
  const jwks = metadata?.jwks
  if (jwks === undefined) throw new Error('the request has no key')
  return jwks.keys[0]
}

/** Encrypts a response to the key of the request by an independent library; `parts` replace what is right. */
export async function encryptedResponse(
  request: RequestObject,
  members: unknown,
  parts: JweParts = {},
): Promise<string> {
  const key = parts.jwk ?? responseKey(request)
  const header = { alg: 'ECDH-ES', enc: 'A256GCM', kid: responseKey(request).kid, ...parts.header }
  const protectedHeader = JSON.parse(JSON.stringify(header)) as { alg: string; enc: string }
  const bare = { ...key, alg: undefined, use: undefined }
  return new CompactEncrypt(Buffer.from(parts.plaintext ?? JSON.stringify(members)))
    .setProtectedHeader(protectedHeader)
    .encrypt(await importJWK(JSON.parse(JSON.stringify(bare)) as JWK, protectedHeader.alg))
}

/** Encrypts a credential request to the key of the issuer metadata by an independent library. */
export async function encryptedRequest(
  metadata: JsonObject,
  body: string,
  header: { readonly enc: string; readonly zip?: string },
): Promise<string> {
  const { jwks } = metadata.credential_request_encryption as { readonly jwks?: { readonly keys: readonly JWK[] } }
  const { kid = '', alg = '', ...key } = jwks?.keys[0] ?? {}
  return new CompactEncrypt(Buffer.from(body))
    .setProtectedHeader({ ...header, alg, kid })
    .encrypt(await importJWK(key, alg))
}
