/**
 * Encrypted credential requests and responses: decrypts requests with the issuer's key, and encrypts responses for the
 * wallet's key. Error responses are never encrypted. OpenID4VCI 1.0, Encrypted Credential Requests and Responses.
 */
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import {
  decryptJwe,
  encryptJwe,
  type JweParameters,
  jweAlgorithms,
  jweEncryptions,
  makeEncryptionJwk,
  readEncryptionKey,
} from '../../keys/jwe.ts'
import { readOrRefuse, refuse, refuseMalformed } from '../../protocol/error.ts'
import type { CredentialResponse, IssuerMetadata } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'

/**
 * The maximum size of a body of the credential endpoint, before and after inflation: a batch of the largest
 * `batch_size`, where each proof has a key attestation and the request is encrypted.
 */
export const MAX_REQUEST_BYTES = 512 * 1024

const MEMBER = 'credential_response_encryption'

/**
 * Makes `credential_request_encryption` and `credential_response_encryption` of the issuer metadata; empty where no
 * request may be encrypted.
 */
export function issuerEncryptionMetadata({
  config,
  decryptionKeys,
}: Pick<IssuerContext, 'config' | 'decryptionKeys'>): Pick<
  IssuerMetadata,
  'credential_request_encryption' | 'credential_response_encryption'
> {
  if (config.credentialEncryption === 'off') return {}
  const [{ jwk, kid }] = decryptionKeys
  const supportedMembers = {
    enc_values_supported: [...jweEncryptions],
    zip_values_supported: ['DEF'],
    encryption_required: config.credentialEncryption === 'required',
  }
  return {
    credential_request_encryption: { jwks: { keys: [makeEncryptionJwk(jwk, kid)] }, ...supportedMembers },
    credential_response_encryption: { alg_values_supported: [...jweAlgorithms], ...supportedMembers },
  }
}

/** Encrypts the response for the wallet. */
export function encryptResponse(response: CredentialResponse, encryption: JweParameters): Promise<string> {
  return encryptJwe(JSON.stringify(response), encryption)
}

/** Decrypts a request. Refuses with `invalid_encryption_parameters`. */
export function decryptRequest({ decryptionKeys }: IssuerContext, text: string): Promise<JsonObject> {
  const keys = decryptionKeys.map(({ privateKey: key, kid }) => ({ key, kid }))
  const decryption = { keys, encs: jweEncryptions, maxBytes: MAX_REQUEST_BYTES, zip: 'DEF' } as const
  return decryptJwe(text, decryption).catch((error: unknown) =>
    refuseMalformed('invalid_encryption_parameters', 'the encrypted request cannot be read', error),
  )
}

/** Reads `credential_response_encryption`. Refuses with `invalid_encryption_parameters`. */
export function readResponseEncryption(member: unknown): JweParameters {
  if (!isObject(member)) return refuse('invalid_encryption_parameters', `${MEMBER} must be an object`)
  const enc = jweEncryptions.find((each) => each === stringMemberOf(member, 'enc'))
  if (enc === undefined) {
    return refuse('invalid_encryption_parameters', `${MEMBER}.enc must be ${jweEncryptions.join(' or ')}`)
  }
  const zip = memberOf(member, 'zip')
  if (zip !== undefined && zip !== 'DEF') {
    return refuse('invalid_encryption_parameters', `${MEMBER}.zip must be DEF, or be left out`)
  }
  const key = readOrRefuse('invalid_encryption_parameters', `${MEMBER}.jwk`, () =>
    readEncryptionKey(memberOf(member, 'jwk')),
  )
  return { ...key, enc, zip }
}
