/**
 * HPKE for one message to a P-256 key, by `@hpke/core`: base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and
 * AES-128-GCM. RFC 9180.
 */
import { webcrypto } from 'node:crypto'
import { Aes128Gcm, CipherSuite, DhkemP256HkdfSha256, HkdfSha256, HpkeError } from '@hpke/core'
import { malformed } from '../codec/malformed.ts'
import type { PrivateJwk } from './private-jwk.ts'

/** An encrypted message. */
export interface HpkeMessage {
  /** The sender's public key, made for this message alone: an uncompressed point. */
  readonly enc: Uint8Array
  /** The ciphertext, and its tag of 16 bytes. */
  readonly cipherText: Uint8Array
}

const ECDH_P256 = { name: 'ECDH', namedCurve: 'P-256' }
const suite = new CipherSuite({ kem: new DhkemP256HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() })

/**
 * Decrypts a message to `key`. `info` is what sender and recipient share and do not send. Throws a MalformedError if
 * the message is malformed, or was encrypted to another key or with another `info`. The sender is not authenticated.
 */
export async function openHpke(
  { enc, cipherText }: HpkeMessage,
  key: PrivateJwk,
  info: Uint8Array,
): Promise<Uint8Array> {
  // The key is extractable, since the package derives the public key from it. Its type is that of Node, and the package
  // has that of browsers.
  const recipientKey = (await webcrypto.subtle.importKey('jwk', key, ECDH_P256, true, ['deriveBits'])) as never
  try {
    return new Uint8Array(await suite.open({ recipientKey, enc, info }, cipherText))
  } catch (cause) {
    if (!(cause instanceof HpkeError)) throw cause
    return malformed('it cannot be decrypted; it was made for another key or request, or was changed', cause)
  }
}
