/**
 * Encrypted credential requests and responses, for issuers that take no others.
 * OpenID4VCI 1.0, Encrypted Credential Requests and Responses.
 */
import type { KeyObject } from 'node:crypto'
import { isObject, type JsonObject, memberOf, own } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import {
  decryptJwe,
  encryptJwe,
  findEncryptionKey,
  type JweEncryption,
  type JweParameters,
  type JweRecipient,
  jweEncryptions,
  publishedKey,
} from '../keys/jwe.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from '../keys/private-jwk.ts'
import type { WalletContext } from './context.ts'
import { refuse } from './error.ts'
import { type Ask, exchange, exchangeJson } from './exchange.ts'

export interface CredentialEncryption {
  /** How to encrypt a request. */
  readonly request: JweParameters
  /** How the issuer may encrypt its answer; undefined when it offers to encrypt none. */
  readonly response: JweEncryption | undefined
}

const MAX_ANSWER = 1024 * 1024
const KID = 'answer'
const JWT_TYPE = 'application/jwt'

/**
 * What the issuer wants, or undefined when it takes requests in the clear. Refuses with `unsupported` what this wallet has no
 * means for, with `invalid_metadata` encrypted responses without encrypted requests.
 */
export function readCredentialEncryption(metadata: JsonObject): CredentialEncryption | undefined {
  const request = own(metadata, 'credential_request_encryption')
  const response = own(metadata, 'credential_response_encryption')
  if (memberOf(request, 'encryption_required') !== true && memberOf(response, 'encryption_required') !== true)
    return undefined
  if (!isObject(request)) {
    return refuse('invalid_metadata', 'the issuer requires encryption and has no credential_request_encryption')
  }
  return {
    request: { ...requestKey(request), enc: chooseEncryption(request, 'credential_request_encryption') },
    response: isObject(response) ? responseEncryption(response) : undefined,
  }
}

/**
 * Sends the members encrypted, asks for an answer to a key that is made for it alone, and reads that. Refuses like `exchange`,
 * and with `invalid_response` an answer that is not encrypted to that key.
 */
export async function exchangeEncrypted(
  wallet: WalletContext,
  ask: Ask,
  { request, response }: CredentialEncryption,
  members: JsonObject,
): Promise<JsonObject> {
  const headers = { ...ask.headers, 'content-type': JWT_TYPE }
  if (response === undefined) {
    return exchangeJson(wallet, { ...ask, headers, body: await encryptJwe(JSON.stringify(members), request) })
  }
  const privateJwk = makePrivateJwk(wallet.random)
  const wanted = { jwk: publishedKey(publicPartOf(privateJwk), KID), enc: response }
  const body = await encryptJwe(JSON.stringify({ ...members, credential_response_encryption: wanted }), request)
  const text = await exchange(wallet, { ...ask, headers, body, type: JWT_TYPE })
  return decrypt(text, importPrivateKey(privateJwk), response, `the encrypted answer of ${ask.url} cannot be read`)
}

async function decrypt(text: string, key: KeyObject, enc: JweEncryption, problem: string): Promise<JsonObject> {
  try {
    return await decryptJwe(text, { keys: [{ key, kid: KID }], encs: [enc], maxBytes: MAX_ANSWER })
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return refuse('invalid_response', `${problem}: ${error.message}`)
  }
}

/** The first key that we can use. */
function requestKey(offered: JsonObject): JweRecipient {
  const key = findEncryptionKey(own(offered, 'jwks'))
  if (!('problems' in key)) return key
  const why = key.problems.join('; ') || 'credential_request_encryption.jwks has none'
  return refuse('unsupported', `the issuer wants encrypted requests, and has no key that this wallet can use (${why})`)
}

function responseEncryption(offered: JsonObject): JweEncryption {
  const algorithms = own(offered, 'alg_values_supported')
  if (!Array.isArray(algorithms) || !algorithms.includes('ECDH-ES')) {
    refuse(
      'unsupported',
      'the issuer encrypts its responses, and not with ECDH-ES, which is all that this wallet reads',
    )
  }
  return chooseEncryption(offered, 'credential_response_encryption')
}

/** The stronger one where the issuer takes it. */
function chooseEncryption(offered: JsonObject, name: string): JweEncryption {
  const values = own(offered, 'enc_values_supported')
  const strongestFirst = [...jweEncryptions].reverse()
  return (
    strongestFirst.find((enc) => Array.isArray(values) && values.includes(enc)) ??
    refuse('unsupported', `the issuer takes none of ${strongestFirst.join(', ')} (${name}.enc_values_supported)`)
  )
}
