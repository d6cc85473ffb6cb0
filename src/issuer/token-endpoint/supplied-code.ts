/**
 * A pre-authorized code that the integrating application supplied, because an authorization server knows it already. It is
 * kept sealed with its session, for the offer, and found by a MAC: no database gives one away.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { decryptText, encryptText } from '../../codec/aes-gcm.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** The id under which the session of the code is found. */
export function suppliedCodeId(secret: KeyObject, code: string): string {
  return createHmac('sha256', secret).update(`supplied ${code}`).digest('base64url')
}

/** The code as it is stored with its session. */
export function sealCode([secret]: Secrets, sessionId: string, code: string, nonce: Uint8Array): string {
  return toBase64url(encryptText({ secret, context: sessionId }, nonce, code))
}

/** Opens a sealed code; undefined where none of `secrets` is the one that it was sealed under. */
export function openCode(secrets: Secrets, sessionId: string, sealed: string): string | undefined {
  const bytes = fromBase64url(sealed)
  for (const secret of secrets) {
    try {
      return decryptText({ secret, context: sessionId }, bytes)
    } catch {
      // The code may be sealed under another generation.
    }
  }
  return undefined
}
