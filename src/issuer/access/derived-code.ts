/**
 * Codes that are derived from an id with a secret, so no code is stored: pre-authorized codes, `issuer_state` and
 * authorization codes. A code begins with the id of its row in the database.
 */
import type { KeyObject } from 'node:crypto'
import { isSameSecret } from '../../codec/digest.ts'
import { macOfText } from '../../codec/mac-token.ts'
import type { Secrets } from '../../keys/secrets.ts'

/** Makes the code for `id` with the newest of `secrets`. */
export function makeDerivedCode([secret]: Secrets, id: string): string {
  return deriveCode(secret, id)
}

/** Returns the id of a code that was made with one of `secrets`; undefined for any other text. */
export function findIdOfDerivedCode(secrets: Secrets, code: string): string | undefined {
  const id = code.slice(0, Math.max(0, code.lastIndexOf('.')))
  return secrets.some((secret) => isSameSecret(deriveCode(secret, id), code)) ? id : undefined
}

function deriveCode(secret: KeyObject, id: string): string {
  return `${id}.${macOfText(secret, id)}`
}
