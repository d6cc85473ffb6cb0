/**
 * Values that this service encrypts and later decrypts itself: those that a browser or a wallet carries, so that
 * nothing is stored meanwhile, and codes, so that the database does not have them in plain text.
 */
import { decryptText, encryptText, NONCE_BYTES } from '../../codec/aes-gcm.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { type JsonObject, parseJsonObject } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** The secrets for a kind of value, and what the value is bound to: it decrypts only with the same text. */
export interface ValueKey {
  readonly secrets: Secrets
  /** The id of the session that the value belongs to; of a value without a session, the purpose of its secrets. */
  readonly boundTo: string
}

/** Encrypts a text and returns it in base64url. */
export function encryptValue(
  { secrets, boundTo }: ValueKey,
  text: string,
  { random }: { readonly random: (bytes: number) => Uint8Array },
): string {
  const [secret] = secrets
  return toBase64url(encryptText({ secret, context: boundTo }, random(NONCE_BYTES), text))
}

/** Decrypts a value of {@link encryptValue}. Returns undefined for any other text, and if its secret was removed. */
export function decryptValue({ secrets, boundTo }: ValueKey, encryptedText: string): string | undefined {
  const bytes = readOrUndefined(() => fromBase64url(encryptedText))
  for (const secret of bytes === undefined ? [] : secrets) {
    try {
      return decryptText({ secret, context: boundTo }, bytes as Uint8Array)
    } catch {
      // Another secret of `secrets` may have encrypted the value.
    }
  }
  return undefined
}

/** Decrypts a value that is a JSON object, like {@link decryptValue}. */
export function decryptObject(key: ValueKey, encryptedText: string): JsonObject | undefined {
  const text = decryptValue(key, encryptedText)
  return text === undefined ? undefined : parseJsonObject(text)
}
