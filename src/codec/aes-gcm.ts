/** AES-256-GCM (NIST SP 800-38D) of a text into one piece: nonce, ciphertext and tag. What it belongs to is authenticated with it. */
import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
/** Of each nonce, which is used once with a key. */
export const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Sealing {
  /** Of 32 bytes. */
  readonly secret: KeyObject
  /** What the text belongs to: sealed for another place it does not open. */
  readonly place: string
}

export function seal({ secret, place }: Sealing, nonce: Uint8Array, text: string): Buffer {
  const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(Buffer.from(place))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Throws when it was not sealed with this secret for this place. */
export function unseal({ secret, place }: Sealing, sealed: Uint8Array): string {
  const decipher = createDecipheriv(CIPHER, secret, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-TAG_BYTES))
  return decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}
