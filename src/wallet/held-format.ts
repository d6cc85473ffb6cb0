/** The formats that this wallet supports, and credential types as text. */
import type { Json, JsonObject } from '../codec/json.ts'
import type { CredentialFormat } from '../credential/format.ts'
import { formatOf, supportedFormats } from '../credential/formats.ts'
import { refuseWith } from './error.ts'

/** Returns the format with this id. Refuses with `unsupported`. */
export function requireHeldFormat(id: string): CredentialFormat {
  return (
    formatOf(id) ??
    refuseWith('unsupported', `the credential has the format ${id || 'of no name'}; ${heldFormatsText()}`)
  )
}

/** Lists the supported formats in words: `this wallet holds …`. */
export function heldFormatsText(): string {
  return `this wallet holds ${supportedFormats.join(', ')}`
}

/**
 * Describes the requested types: `StudentCard or Pass + Gold`; undefined if there are none. `meta` has a text, or a
 * list of texts or of sets of texts, depending on the format.
 */
export function metaText(meta: JsonObject): string | undefined {
  const names = Object.values(meta).flatMap((member) =>
    Array.isArray(member) ? member.map(joinTypes) : joinTypes(member),
  )
  return names.filter((name) => name !== '').join(' or ') || undefined
}

/** Joins a set of types, without `VerifiableCredential` unless it is the only one. */
function joinTypes(typeSet: Json): string {
  const types = [typeSet].flat().filter((type) => typeof type === 'string')
  return types.filter((type) => type !== 'VerifiableCredential').join(' + ') || (types[0] ?? '')
}
