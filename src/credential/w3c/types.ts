/** The types of W3C credentials, as they stand there and as their contexts expand them. */
import { type Json, type JsonObject, memberOf, own, stringsIn } from '../../codec/json.ts'
import { VCDM_1_CONTEXT, VCDM_2_CONTEXT } from './members.ts'

const CREDENTIALS = 'https://www.w3.org/2018/credentials#'

/** The expansions of types by the contexts that this file knows. */
const expansions: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [VCDM_2_CONTEXT, VCDM_1_CONTEXT].map((context) => [
    context,
    new Map(['VerifiableCredential', 'VerifiablePresentation'].map((type) => [type, `${CREDENTIALS}${type}`])),
  ]),
)

/** Returns the `meta` that asks for a credential of all the types of a configuration; for any where it names none. */
export function typeValuesOf(configuration: JsonObject): JsonObject {
  const definition = own(configuration, 'credential_definition')
  const names = stringsIn(memberOf(definition, 'type'))
  return names.length > 0 ? { type_values: [[...names]] } : {}
}

/**
 * Tests whether a credential of these types and claims is wanted. OpenID4VP 1.0, W3C Verifiable Credentials,
 * `type_values`.
 */
export function matchesTypeValues(
  { types, claims }: { readonly types: readonly string[]; readonly claims: JsonObject },
  meta: JsonObject,
): boolean {
  const typeValues = own(meta, 'type_values')
  if (typeValues === undefined) return true
  // Both the stated and the expanded type count: people write the stated one, the specification means the
  // second.
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
