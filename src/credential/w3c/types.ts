/** The types of W3C credentials, as written in the credential and as expanded by its contexts. */
import { type Json, type JsonObject, memberOf, own, stringsIn } from '../../codec/json.ts'
import { VCDM_1_CONTEXT, VCDM_2_CONTEXT } from './members.ts'

const CREDENTIALS = 'https://www.w3.org/2018/credentials#'

/** The expanded types of the known contexts. */
const expansions: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [VCDM_2_CONTEXT, VCDM_1_CONTEXT].map((context) => [
    context,
    new Map(['VerifiableCredential', 'VerifiablePresentation'].map((type) => [type, `${CREDENTIALS}${type}`])),
  ]),
)

/** Makes the `meta` that requests all types of a configuration; empty if it has no types. */
export function typeValuesOf(configuration: JsonObject): JsonObject {
  const definition = own(configuration, 'credential_definition')
  const names = stringsIn(memberOf(definition, 'type'))
  return names.length > 0 ? { type_values: [[...names]] } : {}
}

/**
 * Tests whether a credential with these types and claims matches `type_values`. OpenID4VP 1.0, W3C Verifiable
 * Credentials, `type_values`.
 */
export function matchesTypeValues(
  { types, claims }: { readonly types: readonly string[]; readonly claims: JsonObject },
  meta: JsonObject,
): boolean {
  const typeValues = own(meta, 'type_values')
  if (typeValues === undefined) return true
  // Accepts both the written and the expanded type. The specification requires the expanded one, but people use both.
  const names = new Set<Json>(types)
  for (const context of new Set([own(claims, '@context')].flat())) {
    const expansion = typeof context === 'string' ? expansions.get(context) : undefined
    for (const [type, expandedType] of expansion ?? []) if (names.has(type)) names.add(expandedType)
  }
  return (
    Array.isArray(typeValues) &&
    typeValues.some((set) => Array.isArray(set) && set.length > 0 && set.every((type) => names.has(type)))
  )
}
