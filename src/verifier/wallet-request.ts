/**
 * The parameters of a wallet's POST request for its request object: a nonce to include, and metadata with the key to
 * encrypt the object with. Other wallet metadata is ignored. OpenID4VP 1.0, Request URI Method post.
 */
import { type JsonObject, memberOf, parseJsonObject } from '../codec/json.ts'
import {
  encryptJwe,
  findEncryptionKey,
  type JweEncryption,
  type JweRecipient,
  jweAlgorithms,
  jweEncryptions,
} from '../keys/jwe.ts'
import { readOrRefuse, refuse } from '../protocol/error.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import type { RequestObjectForm } from './schemas.ts'

export interface WalletRequest {
  readonly nonce?: string
  readonly encryption?: { readonly key: JweRecipient; readonly enc: JweEncryption }
}

const MAX_NONCE = 512

/**
 * Parses the parameters. Refuses with `invalid_request` a nonce that is not printable ASCII or is too long, and
 * metadata that is not a JSON object.
 */
export function readWalletRequest({
  wallet_nonce: nonce,
  wallet_metadata: metadata,
}: RequestObjectForm): WalletRequest {
  if (nonce && (nonce.length > MAX_NONCE || !/^[ -~]+$/.test(nonce))) {
    refuse('invalid_request', `wallet_nonce must be printable ASCII of up to ${MAX_NONCE} characters`)
  }
  const encryption = metadata
    ? encryptionOf(readOrRefuse('invalid_request', 'wallet_metadata', () => parseJsonObject(metadata)))
    : undefined
  return { ...(nonce ? { nonce } : {}), ...(encryption === undefined ? {} : { encryption }) }
}

/**
 * Encrypts the request object if the wallet sent a suitable key. RFC 9101, Encrypted Request Object; RFC 7519 section
 * 5.2.
 */
export async function encryptForWallet({ encryption }: WalletRequest, requestObject: string): Promise<string> {
  if (encryption === undefined) return requestObject
  return encryptJwe(requestObject, { ...encryption.key, enc: encryption.enc, cty: 'JWT' })
}

/**
 * Returns the first supported key on P-256; undefined if there is none, and the request object is then not encrypted.
 * The algorithm may be in the metadata (`request_object_encryption_alg_values_supported`) instead of the key. Anybody
 * may send this request, and encryption to a key on a larger curve takes four to eight times as long.
 */
function encryptionOf(metadata: JsonObject): WalletRequest['encryption'] {
  const encs = memberOf(metadata, 'request_object_encryption_enc_values_supported') ?? [DEFAULT_ENCRYPTION]
  const enc = Array.isArray(encs) ? jweEncryptions.find((each) => encs.includes(each)) : undefined
  const algs = memberOf(metadata, 'request_object_encryption_alg_values_supported')
  const alg = Array.isArray(algs) ? jweAlgorithms.find((each) => algs.includes(each)) : undefined
  const keys = memberOf(memberOf(metadata, 'jwks'), 'keys')
  const p256Keys = Array.isArray(keys) ? keys.filter((each) => memberOf(each, 'crv') === 'P-256') : []
  const key = findEncryptionKey({ keys: p256Keys }, alg)
  return 'problems' in key || enc === undefined ? undefined : { key, enc }
}
