/** What a credential query asks for by its `meta`, for people. */
import type { Json, JsonObject } from '../codec/json.ts'

/** `StudentCard or Pass + Gold`; undefined when it asks for nothing. Each format has texts there, lists or sets of them. */
export function metaText(meta: JsonObject): string | undefined {
  const names = Object.values(meta).flatMap((member) => (Array.isArray(member) ? member.map(setText) : setText(member)))
  return names.filter((name) => name !== '').join(' or ') || undefined
}

/** The type that every W3C credential has says nothing, unless there is no other. */
function setText(set: Json): string {
  const types = [set].flat().filter((type) => typeof type === 'string')
  return types.filter((type) => type !== 'VerifiableCredential').join(' + ') || (types[0] ?? '')
}
