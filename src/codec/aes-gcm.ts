/** AES-256-GCM (NIST SP 800-38D): encrypts a text into its nonce, ciphertext and tag, bound to a context. */
import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
/** The length of a nonce, which is used once with a key. */
export const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface AesGcmKey {
  /** A key of 32 bytes. */
  readonly secret: KeyObject
  /** The additional authenticated data: a ciphertext decrypts only under the context of its encryption. */
  readonly context: string
}

/** Encrypts `text`. A `nonce` must be used only once with a key. */
export function encryptText({ secret, context }: AesGcmKey, nonce: Uint8Array, text: string): Buffer {
  const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts the result of {@link encryptText}. Throws if the key, the context or a byte differs. */
export function decryptText({ secret, context }: AesGcmKey, encryptedBytes: Uint8Array): string {
  const decipher = createDecipheriv(CIPHER, secret, encryptedBytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context)).setAuthTag(encryptedBytes.subarray(-TAG_BYTES))
  return decipher.update(encryptedBytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}
