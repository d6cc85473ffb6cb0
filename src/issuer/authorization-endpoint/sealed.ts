/** Values that somebody else carries for this service: sealed under a secret, so that nothing is stored meanwhile. */
import { decryptText, encryptText, NONCE_BYTES } from '../../codec/aes-gcm.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { type JsonObject, parseJsonObject } from '../../codec/json.ts'
import { orUndefined } from '../../codec/malformed.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** The secrets of a kind of value, and its name, so that no other kind is taken for it. */
export interface Seal {
  readonly secrets: Secrets
  readonly purpose: string
}

/** Seals a text in base64url. */
export function sealText(
  { secrets, purpose }: Seal,
  text: string,
  { random }: { readonly random: (bytes: number) => Uint8Array },
): string {
  const [secret] = secrets
  return toBase64url(encryptText({ secret, context: purpose }, random(NONCE_BYTES), text))
}

/** Opens what {@link sealText} returned for a JSON object; undefined for anything else. */
export function openSealed({ secrets, purpose }: Seal, sealed: string): JsonObject | undefined {
  const bytes = orUndefined(() => fromBase64url(sealed))
  for (const secret of bytes === undefined ? [] : secrets) {
    try {
      return parseJsonObject(decryptText({ secret, context: purpose }, bytes as Uint8Array))
    } catch {
      // The value may be sealed under another generation.
    }
  }
  return undefined
}
