/**
 * Values that this service encrypts for itself: those that a browser or a wallet carries, so that nothing is stored
 * meanwhile, and codes, so that no database has them in the clear.
 */
import { decryptText, encryptText, NONCE_BYTES } from '../../codec/aes-gcm.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { type JsonObject, parseJsonObject } from '../../codec/json.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** The secrets for a value, and the purpose of the value: no value for another purpose is taken for it. */
export interface ValueKey {
  readonly secrets: Secrets
  /** The name of a kind of value, or the id of the session that the value belongs to. */
  readonly purpose: string
}

/** Encrypts a text, as base64url. */
export function encryptValue(
  { secrets, purpose }: ValueKey,
  text: string,
  { random }: { readonly random: (bytes: number) => Uint8Array },
): string {
  const [secret] = secrets
  return toBase64url(encryptText({ secret, context: purpose }, random(NONCE_BYTES), text))
}

/** Decrypts what {@link encryptValue} returned; returns undefined for anything else, and where the secret is gone. */
export function decryptValue({ secrets, purpose }: ValueKey, encryptedText: string): string | undefined {
  const bytes = orUndefined(() => fromBase64url(encryptedText))
  for (const secret of bytes === undefined ? [] : secrets) {
    try {
      return decryptText({ secret, context: purpose }, bytes as Uint8Array)
    } catch {
      // The value may be encrypted with a secret of another generation.
    }
  }
  return undefined
}

/** Decrypts as {@link decryptValue} does a text that is a JSON object. */
export function decryptObject(key: ValueKey, encryptedText: string): JsonObject | undefined {
  const text = decryptValue(key, encryptedText)
  return text === undefined ? undefined : parseJsonObject(text)
}
