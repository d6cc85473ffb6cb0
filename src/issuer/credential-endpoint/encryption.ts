/**
 * Encrypted credential requests and responses: decrypts requests with the issuer's key, and encrypts responses for the
 * wallet's key. Error responses are never encrypted. OpenID4VCI 1.0, Encrypted Credential Requests and Responses.
 */
import { isObject, type JsonObject, own, ownString } from '../../codec/json.ts'
import {
  decryptJwe,
  encryptJwe,
  type JweParameters,
  jweAlgorithms,
  jweEncryptions,
  publishedKey,
  readEncryptionKey,
} from '../../keys/jwe.ts'
import { orRefuse, refuse, refuseMalformed } from '../../protocol/error.ts'
import type {
  CredentialRequest,
  CredentialResponse,
  DeferredCredentialRequest,
  IssuerMetadata,
} from '../../protocol/oid4vci.ts'
import type { CredentialResponseForm } from '../collections.ts'
import type { IssuerContext } from '../context.ts'

/** The maximum size of a body of the credential endpoint, before and after inflation. */
export const MAX_REQUEST_BYTES = 256 * 1024

/** A request after decryption, and the encryption that it asks for in its response, if any. */
export interface ReceivedRequest<T> {
  readonly request: T
  readonly form: CredentialResponseForm
}

const MEMBER = 'credential_response_encryption'

/** Makes `credential_request_encryption` and `credential_response_encryption` of the issuer metadata. */
export function issuerEncryptionMetadata({
  config,
  decryptionKeys,
}: IssuerContext): Pick<IssuerMetadata, 'credential_request_encryption' | 'credential_response_encryption'> {
  const [{ jwk, kid }] = decryptionKeys
  const supportedMembers = {
    enc_values_supported: [...jweEncryptions],
    zip_values_supported: ['DEF'],
    encryption_required: config.encryptionRequired,
  }
  return {
    credential_request_encryption: { jwks: { keys: [publishedKey(jwk, kid)] }, ...supportedMembers },
    credential_response_encryption: { alg_values_supported: [...jweAlgorithms], ...supportedMembers },
  }
}

/**
 * Reads the body of a credential request or a deferred one; a text is a JWE. Refuses with
 * `invalid_encryption_parameters` a request, or a requested response, that is not encrypted as the metadata requires.
 * Refuses with `invalid_credential_request` a missing body.
 */
export async function readRequest<T extends CredentialRequest | DeferredCredentialRequest>(
  context: IssuerContext,
  body: T | string | undefined | null,
): Promise<ReceivedRequest<T>> {
  // A body without a media type is not validated by a schema.
  if (typeof body !== 'string' && !isObject(body)) {
    return refuse('invalid_credential_request', 'the body is missing; send application/json or application/jwt')
  }
  const isEncrypted = typeof body === 'string'
  // The schema of an encrypted request only requires an object.
  const request = isEncrypted ? ((await decryptRequest(context, body)) as T) : body
  const { credential_response_encryption: member } = request
  if (!isEncrypted && context.config.encryptionRequired) {
    refuse('invalid_encryption_parameters', 'this issuer takes encrypted credential requests only (application/jwt)')
  }
  if (member === undefined) {
    if (!context.config.encryptionRequired) return { request, form: {} }
    return refuse('invalid_encryption_parameters', 'credential_response_encryption is missing; this issuer requires it')
  }
  if (!isEncrypted) {
    const rule = 'may only stand in an encrypted request (application/jwt)'
    refuse('invalid_encryption_parameters', `${MEMBER} ${rule}`)
  }
  return { request, form: { encryption: readResponseEncryption(member) } }
}

/** Encrypts the response for the wallet. */
export function encryptResponse(response: CredentialResponse, encryption: JweParameters): Promise<string> {
  return encryptJwe(JSON.stringify(response), encryption)
}

function decryptRequest({ decryptionKeys }: IssuerContext, text: string): Promise<JsonObject> {
  const keys = decryptionKeys.map(({ privateKey: key, kid }) => ({ key, kid }))
  const decryption = { keys, encs: jweEncryptions, maxBytes: MAX_REQUEST_BYTES, zip: 'DEF' } as const
  return decryptJwe(text, decryption).catch((error: unknown) =>
    refuseMalformed('invalid_encryption_parameters', 'the encrypted request cannot be read', error),
  )
}

/** Reads `credential_response_encryption`. Refuses with `invalid_encryption_parameters`. */
export function readResponseEncryption(member: unknown): JweParameters {
  if (!isObject(member)) return refuse('invalid_encryption_parameters', `${MEMBER} must be an object`)
  const enc = jweEncryptions.find((each) => each === ownString(member, 'enc'))
  if (enc === undefined) {
    return refuse('invalid_encryption_parameters', `${MEMBER}.enc must be ${jweEncryptions.join(' or ')}`)
  }
  const zip = own(member, 'zip')
  if (zip !== undefined && zip !== 'DEF') {
    return refuse('invalid_encryption_parameters', `${MEMBER}.zip must be DEF, or be left out`)
  }
  const key = orRefuse('invalid_encryption_parameters', `${MEMBER}.jwk`, () => readEncryptionKey(own(member, 'jwk')))
  return { ...key, enc, zip }
}
