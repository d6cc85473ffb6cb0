/** Describes the `meta` of a credential query for people. */
import type { Json, JsonObject } from '../codec/json.ts'

/**
 * Describes the requested types: `StudentCard or Pass + Gold`; undefined when there are none. Formats have texts, lists
 * or sets of texts in `meta`.
 */
export function metaText(meta: JsonObject): string | undefined {
  const names = Object.values(meta).flatMap((member) =>
    Array.isArray(member) ? member.map(joinTypes) : joinTypes(member),
  )
  return names.filter((name) => name !== '').join(' or ') || undefined
}

/** Joins a set of types to a text, without the type of every W3C credential unless it is the only one. */
function joinTypes(typeSet: Json): string {
  const types = [typeSet].flat().filter((type) => typeof type === 'string')
  return types.filter((type) => type !== 'VerifiableCredential').join(' + ') || (types[0] ?? '')
}
