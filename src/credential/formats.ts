/** The supported formats. docs/adding-a-format.md describes how to add one. */
import { isObject, type JsonObject, memberOf } from '../codec/json.ts'
import type { Mistakes } from '../protocol/dcql-parts.ts'
import type { CredentialFormat, TypeMember } from './format.ts'
import { msoMdoc } from './mso-mdoc/index.ts'
import { sdJwtVc } from './sd-jwt-vc/index.ts'
import { w3cJwt } from './w3c-jwt/index.ts'
import { w3cSdJwt } from './w3c-sd-jwt/index.ts'

export const formats: readonly CredentialFormat[] = [w3cSdJwt, sdJwtVc, w3cJwt, msoMdoc]

/** The identifiers of all formats. */
export const supportedFormats: readonly string[] = formats.flatMap((format) => format.ids)

/** The mistake of an identifier that no format has, as the end of a sentence. */
export const UNKNOWN_FORMAT = `must be a known credential format; supported: ${supportedFormats.join(', ')}`

/** Returns the format with this identifier; undefined if it is unknown. */
export function formatOf(id: string): CredentialFormat | undefined {
  return formats.find((format) => format.ids.includes(id))
}

/** The members of a dataset that each format uses, in words. */
export const datasetRules: readonly string[] = [...new Set(formats.map(({ datasetRule }) => datasetRule))]

/** The members for the type in configurations of all formats. */
export const typeMembers: readonly TypeMember[] = [...new Set(formats.map(({ typeMember }) => typeMember))]

/** The members of configurations that only one format may have, each with that format. */
export const ownConfigurationMembers = formats.flatMap((format) =>
  format.ownConfigurationMembers.map((member) => ({ member, format })),
)

/** The identifiers of formats that HAIP 1.0 profiles. */
export const haipFormats: readonly string[] = formats.filter(({ isInHaip }) => isInHaip).flatMap(({ ids }) => ids)

const metaMembers: ReadonlySet<string> = new Set(formats.map(({ metaMember }) => metaMember))

/** Returns the mistakes in a credential query for its format, as sentences that begin with the path. */
export function* findQueryMistakes(format: CredentialFormat, query: JsonObject, path: string): Mistakes {
  const meta = memberOf(query, 'meta')
  if (isObject(meta)) yield* findForeignMeta(meta, `${path}.meta`, format.metaMember)
  yield* format.findOwnQueryMistakes(query, path)
}

/**
 * Finds members of `meta` that belong to other formats, and a `meta` that has only unknown members, such as a misspelt
 * one, since ignoring it would accept any type. An empty object accepts any type intentionally.
 */
function* findForeignMeta(meta: JsonObject, path: string, metaMember: string): Mistakes {
  const names = Object.keys(meta)
  const foreign = names.filter((name) => name !== metaMember && metaMembers.has(name))
  for (const name of foreign) yield `${path}.${name}: does not go with this format; use ${metaMember}`
  if (names.length > 0 && foreign.length === 0 && !names.includes(metaMember)) {
    yield `${path}: has nothing that says the type; use ${metaMember}, or an empty object for any type`
  }
}

/** Returns `vp_formats_supported`, by format identifier. */
export function presentationFormats(): Record<string, CredentialFormat['presentationAlgorithms']> {
  return Object.fromEntries(formats.flatMap((format) => format.ids.map((id) => [id, format.presentationAlgorithms])))
}
