/** Values that a browser or a wallet carries for this service, encrypted, so that nothing is stored meanwhile. */
import { decryptText, encryptText, NONCE_BYTES } from '../../codec/aes-gcm.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { type JsonObject, parseJsonObject } from '../../codec/json.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** The secrets for a kind of value, and the name of the kind, so that no other kind is taken for it. */
export interface ValueKey {
  readonly secrets: Secrets
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

/** Decrypts what {@link encryptValue} returned for a JSON object; returns undefined for anything else. */
export function decryptValue({ secrets, purpose }: ValueKey, encryptedText: string): JsonObject | undefined {
  const bytes = orUndefined(() => fromBase64url(encryptedText))
  for (const secret of bytes === undefined ? [] : secrets) {
    try {
      return parseJsonObject(decryptText({ secret, context: purpose }, bytes as Uint8Array))
    } catch {
      // The value may be encrypted with a secret of another generation.
    }
  }
  return undefined
}
