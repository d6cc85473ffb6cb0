/**
 * A pre-authorized code that the integrating application supplied, because an authorization server knows it already. It is
 * kept sealed with its session, for the offer, and found by a MAC: no database gives one away. AES-256-GCM, NIST SP 800-38D.
 */
import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'

const CIPHER = 'aes-256-gcm'
export const IV_BYTES = 12
const TAG_BYTES = 16

/** The id under which the session of the code is found. */
export function suppliedCodeId(secret: KeyObject, code: string): string {
  return createHmac('sha256', secret).update(`supplied ${code}`).digest('base64url')
}

/** The code as it is stored with its session. */
export function sealCode(secret: KeyObject, sessionId: string, code: string, iv: Uint8Array): string {
  const cipher = createCipheriv(CIPHER, secret, iv).setAAD(Buffer.from(sessionId))
  return toBase64url(Buffer.concat([iv, cipher.update(code, 'utf8'), cipher.final(), cipher.getAuthTag()]))
}

/** The code again, or undefined when it was sealed under another signing key. */
export function openCode(secret: KeyObject, sessionId: string, sealed: string): string | undefined {
  const bytes = fromBase64url(sealed)
  const decipher = createDecipheriv(CIPHER, secret, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(sessionId)).setAuthTag(bytes.subarray(-TAG_BYTES))
  const opened = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
