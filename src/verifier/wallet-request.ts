/**
 * A wallet's request for its request object by POST: a nonce that makes the object its own, and the keys to encrypt the
 * object to. Other metadata of the wallet is not needed. OpenID4VP 1.0, Request URI Method post.
 */
import { type JsonObject, own, parseJsonObject } from '../codec/json.ts'
import {
  encryptJwe,
  findEncryptionKey,
  type JweEncryption,
  type JweRecipient,
  jweAlgorithms,
  jweEncryptions,
} from '../keys/jwe.ts'
import { orRefuse, refuse } from '../protocol/error.ts'
import { DEFAULT_ENCRYPTION } from '../protocol/oid4vp.ts'
import type { RequestObjectForm } from './schemas.ts'

export interface WalletRequest {
  readonly nonce?: string
  readonly encryption?: { readonly key: JweRecipient; readonly enc: JweEncryption }
}

const MAX_NONCE = 512

/**
 * Reads what a wallet sends for its request object. Refuses with `invalid_request` a nonce that is not printable text,
 * and metadata that is not a JSON object.
 */
export function readWalletRequest({
  wallet_nonce: nonce,
  wallet_metadata: metadata,
}: RequestObjectForm): WalletRequest {
  if (nonce && (nonce.length > MAX_NONCE || !/^[ -~]+$/.test(nonce))) {
    refuse('invalid_request', `wallet_nonce must be printable ASCII of up to ${MAX_NONCE} characters`)
  }
  const encryption = metadata
    ? encryptionOf(orRefuse('invalid_request', 'wallet_metadata', () => parseJsonObject(metadata)))
    : undefined
  return { ...(nonce ? { nonce } : {}), ...(encryption === undefined ? {} : { encryption }) }
}

/** Encrypts the request object if the wallet wants it. RFC 9101, Encrypted Request Object; RFC 7519 section 5.2. */
export async function encryptForWallet({ encryption }: WalletRequest, requestObject: string): Promise<string> {
  if (encryption === undefined) return requestObject
  return encryptJwe(requestObject, { ...encryption.key, enc: encryption.enc, cty: 'JWT' })
}

/**
 * Returns the first key that we can encrypt to. A wallet that has none, or other ones, gets what everybody gets. The
 * metadata may name the algorithm in the place of the key (`request_object_encryption_alg_values_supported`).
 */
function encryptionOf(metadata: JsonObject): WalletRequest['encryption'] {
  const encs = own(metadata, 'request_object_encryption_enc_values_supported') ?? [DEFAULT_ENCRYPTION]
  const enc = Array.isArray(encs) ? jweEncryptions.find((each) => encs.includes(each)) : undefined
  const algs = own(metadata, 'request_object_encryption_alg_values_supported')
  const alg = Array.isArray(algs) ? jweAlgorithms.find((each) => algs.includes(each)) : undefined
  const key = findEncryptionKey(own(metadata, 'jwks'), alg)
  return 'problems' in key || enc === undefined ? undefined : { key, enc }
}
