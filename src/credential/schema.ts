/** What datasets may not hold in any format made of JSON, and `meta` in no query but those of its own formats. */
import { type Json, type JsonObject, own } from '../codec/json.ts'
import { DIGEST_MEMBERS } from '../codec/sd-jwt.ts'
import type { Mistakes } from '../protocol/dcql-parts.ts'
import { refuse } from '../protocol/error.ts'

/** Names with a meaning of their own in an SD-JWT, or in the language this runs on. */
export const RESERVED: readonly string[] = [...DIGEST_MEMBERS, '__proto__']
/** How deep a claim may lie in a dataset. */
export const MAX_DEPTH = 16
/** What names the type in a configuration; each format knows one. OpenID4VCI 1.0, Credential Format Profiles. */
export const TYPE_MEMBERS = ['credential_definition', 'vct', 'doctype'] as const
/** The same in a query. OpenID4VP 1.0, Credential Format Specific Parameters and Rules. */
const META_MEMBERS = ['type_values', 'vct_values', 'doctype_value']

/** Refuses with `invalid_request` reserved names at any depth, and claims nested deeper than 16. */
export function refuseReserved(value: Json, path: string, left = MAX_DEPTH): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) refuse('invalid_request', `${path}: nested deeper than ${MAX_DEPTH}`)
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`
    if (RESERVED.includes(name)) refuse('invalid_request', `${place}: this name is reserved`)
    refuseReserved(member, place, left - 1)
  }
}

/** Refuses with `invalid_request` the type of another format: a wallet would believe it, and it would not be issued. */
export function refuseForeignTypes(configuration: JsonObject, known: string): void {
  for (const foreign of TYPE_MEMBERS) {
    if (foreign !== known && own(configuration, foreign) !== undefined) {
      refuse('invalid_request', `${foreign}: does not go with this format; use ${known}`)
    }
  }
}

/** Refuses with `invalid_request` a `status`, which names the lists of the W3C: only its own formats have a member for them. */
export function refuseBitstring(configuration: JsonObject): void {
  if (own(configuration, 'status') !== undefined) {
    refuse('invalid_request', 'status: this format names status list tokens and nothing else; leave it out')
  }
}

/** Refuses with `invalid_request` what is not a non-empty array of texts. */
export function refuseUnlessStrings(value: Json | undefined, path: string): readonly string[] {
  const strings = Array.isArray(value) ? value.filter((element) => typeof element === 'string' && element !== '') : []
  if (!Array.isArray(value) || value.length === 0 || strings.length !== value.length) {
    refuse('invalid_request', `${path}: it must be a non-empty array of strings`)
  }
  return strings as string[]
}

/**
 * Members of other formats, and members that are all unknown, as a misspelt one is: ignoring them would accept any type
 * without a word. Unknown ones beside the one that is known are ignored, and an empty object is any type on purpose.
 */
export function* inForeignMeta(meta: JsonObject, path: string, known: string): Mistakes {
  const names = Object.keys(meta)
  const foreign = names.filter((name) => name !== known && META_MEMBERS.includes(name))
  for (const name of foreign) yield `${path}.${name}: does not go with this format; use ${known}`
  if (names.length > 0 && foreign.length === 0 && !names.includes(known)) {
    yield `${path}: has nothing that says the type; use ${known}, or an empty object for any type`
  }
}
