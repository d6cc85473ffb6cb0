/**
 * Encrypted credential requests and responses, for issuers that require them. OpenID4VCI 1.0, Encrypted Credential
 * Requests and Responses.
 */
import { isObject, type JsonObject, memberOf } from '../codec/json.ts'
import {
  decryptJwe,
  encryptJwe,
  findEncryptionKey,
  type JweEncryption,
  type JweParameters,
  type JweRecipient,
  makeEncryptionJwk,
} from '../keys/jwe.ts'
import { makePrivateJwk, publicPartOf } from '../keys/private-jwk.ts'
import type { WalletContext } from './context.ts'
import { refuseMalformedWith, refuseWith } from './error.ts'
import { type ExchangeRequest, exchangeJson, exchangeText } from './exchange.ts'
import { chooseEncryption } from './response-encryption.ts'

export interface CredentialEncryption {
  /** The encryption of requests. */
  readonly request: JweParameters
  /** The encryption of responses; undefined if the issuer does not offer one. */
  readonly response: JweEncryption | undefined
}

const MAX_ANSWER_BYTES = 1024 * 1024
const KID = 'answer'
const JWT_TYPE = 'application/jwt'

/**
 * Returns the encryption that the issuer requires; undefined if it accepts unencrypted requests. Refuses with
 * `unsupported` an encryption that this wallet does not support, and with `invalid_metadata` encrypted responses
 * without encrypted requests.
 */
export function readCredentialEncryption(metadata: JsonObject): CredentialEncryption | undefined {
  const request = memberOf(metadata, 'credential_request_encryption')
  const response = memberOf(metadata, 'credential_response_encryption')
  if (memberOf(request, 'encryption_required') !== true && memberOf(response, 'encryption_required') !== true)
    return undefined
  if (!isObject(request)) {
    return refuseWith('invalid_metadata', 'the issuer requires encryption and has no credential_request_encryption')
  }
  return {
    request: { ...findRequestKey(request), enc: chooseIssuerEncryption(request, 'credential_request_encryption') },
    response: isObject(response) ? chooseResponseEncryption(response) : undefined,
  }
}

/**
 * Sends `members` as the body of `exchange`, encrypted if there is an encryption, and returns the response. Refuses
 * like {@link exchangeText}, and with `invalid_response` a response that is not encrypted as requested.
 */
export function exchangeMembers(
  wallet: WalletContext,
  exchange: ExchangeRequest,
  encryption: CredentialEncryption | undefined,
  members: JsonObject,
): Promise<JsonObject> {
  if (encryption !== undefined) {
    return exchangeEncrypted(wallet, { ...exchange, sent: `encrypted: ${exchange.sent ?? ''}` }, encryption, members)
  }
  const headers = { ...exchange.headers, 'content-type': 'application/json' }
  return exchangeJson(wallet, { ...exchange, headers, body: JSON.stringify(members) })
}

/** Sends an encrypted request with a new key for the response, and decrypts the response. */
async function exchangeEncrypted(
  wallet: WalletContext,
  exchange: ExchangeRequest,
  { request, response }: CredentialEncryption,
  members: JsonObject,
): Promise<JsonObject> {
  const headers = { ...exchange.headers, 'content-type': JWT_TYPE }
  if (response === undefined) {
    return exchangeJson(wallet, { ...exchange, headers, body: await encryptJwe(JSON.stringify(members), request) })
  }
  const privateJwk = makePrivateJwk(wallet.random)
  const responseKey = { jwk: makeEncryptionJwk(publicPartOf(privateJwk), KID), enc: response }
  const body = await encryptJwe(JSON.stringify({ ...members, credential_response_encryption: responseKey }), request)
  const text = await exchangeText(wallet, { ...exchange, headers, body, type: JWT_TYPE })
  const decryption = { keys: [{ key: privateJwk, kid: KID }], encs: [response], maxBytes: MAX_ANSWER_BYTES }
  return decryptJwe(text, decryption).catch((error: unknown) =>
    refuseMalformedWith('invalid_response', `the encrypted answer of ${exchange.url} cannot be read`, error),
  )
}

/** Returns the first supported key for requests. */
function findRequestKey(metadata: JsonObject): JweRecipient {
  const key = findEncryptionKey(memberOf(metadata, 'jwks'))
  if (!('problems' in key)) return key
  const reason = key.problems.join('; ') || 'credential_request_encryption.jwks has none'
  return refuseWith(
    'unsupported',
    `the issuer wants encrypted requests, and has no key that this wallet can use (${reason})`,
  )
}

function chooseResponseEncryption(metadata: JsonObject): JweEncryption {
  const algorithms = memberOf(metadata, 'alg_values_supported')
  if (!Array.isArray(algorithms) || !algorithms.includes('ECDH-ES')) {
    refuseWith(
      'unsupported',
      'the issuer encrypts its responses, and not with ECDH-ES, which is all that this wallet reads',
    )
  }
  return chooseIssuerEncryption(metadata, 'credential_response_encryption')
}

function chooseIssuerEncryption(metadata: JsonObject, name: string): JweEncryption {
  return chooseEncryption(memberOf(metadata, 'enc_values_supported'), 'the issuer', `${name}.enc_values_supported`)
}
