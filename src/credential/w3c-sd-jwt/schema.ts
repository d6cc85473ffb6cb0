/**
 * What a W3C configuration may declare, what its dataset may hold, and what a query may say of its types.
 * OpenID4VCI 1.0, appendix VC Signed as a JWT, Using JSON-LD; RFC 9901 for the names that belong to SD-JWT.
 */
import { isObject, type Json, type JsonObject, own, ownString } from '../../codec/json.ts'
import { inList, inText, type Mistakes } from '../../protocol/dcql-parts.ts'
import { refuse } from '../../protocol/error.ts'

/** Names with a meaning of their own in an SD-JWT, or in the language this runs on. */
const RESERVED = ['_sd', '_sd_alg', '...', '__proto__']
const MAX_DEPTH = 16

/** Refuses with `invalid_request` a `credential_definition` without contexts or without `VerifiableCredential`. */
export function checkConfiguration(configuration: JsonObject): void {
  const definition = own(configuration, 'credential_definition')
  if (!isObject(definition)) {
    refuse('invalid_request', 'credential_definition: this format needs it, with @context and type')
  }
  refuseUnlessStrings(own(definition, '@context'), 'credential_definition.@context')
  const types = refuseUnlessStrings(own(definition, 'type'), 'credential_definition.type')
  if (!types.includes('VerifiableCredential')) {
    refuse('invalid_request', 'credential_definition.type: it must contain VerifiableCredential')
  }
  const disclosure = own(configuration, 'selective_disclosure')
  if (!Array.isArray(disclosure)) return
  for (const [index, path] of disclosure.entries()) {
    if (!Array.isArray(path) || path[0] !== 'credentialSubject' || path.length < 2) {
      const where = `selective_disclosure[${index}]`
      refuse(
        'invalid_request',
        `${where}: in this format only paths below credentialSubject can be disclosed selectively`,
      )
    }
  }
}

/** Refuses with `invalid_request` a dataset without `credentialSubject`, with more than that, or with reserved names. */
export function checkDataset(dataset: JsonObject, configuration: JsonObject): void {
  const subject = own(dataset, 'credentialSubject')
  if (!isObject(subject)) refuse('invalid_request', 'credential_dataset.credentialSubject: it must be an object')
  const stray = Object.keys(dataset).find((name) => name !== 'credentialSubject')
  if (stray !== undefined) {
    const format = ownString(configuration, 'format') ?? ''
    refuse(
      'invalid_request',
      `credential_dataset.${stray}: the format ${format} takes credentialSubject and nothing else`,
    )
  }
  refuseReserved(subject, 'credential_dataset.credentialSubject', MAX_DEPTH)
}

/** OpenID4VP 1.0, W3C Verifiable Credentials, Parameters in the `meta` parameter in Credential Query. */
export function* queryMistakes(query: JsonObject, at: string): Mistakes {
  const meta = own(query, 'meta')
  if (!isObject(meta)) return
  const path = `${at}.meta`
  // Not unknown members but those of other formats: ignoring them would accept any type without a word.
  for (const foreign of ['vct_values', 'doctype_value']) {
    if (Object.hasOwn(meta, foreign)) yield `${path}.${foreign}: does not go with this format; use type_values`
  }
  const types = own(meta, 'type_values')
  if (types !== undefined) yield* inList(types, `${path}.type_values`, (set, at) => inList(set, at, inText))
}

function refuseReserved(value: Json, path: string, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) refuse('invalid_request', `${path}: nested deeper than ${MAX_DEPTH}`)
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`
    if (!Array.isArray(value) && RESERVED.includes(name)) refuse('invalid_request', `${place}: this name is reserved`)
    refuseReserved(member, place, left - 1)
  }
}

function refuseUnlessStrings(value: Json | undefined, path: string): readonly string[] {
  const strings = Array.isArray(value) ? value.filter((element) => typeof element === 'string' && element !== '') : []
  if (!Array.isArray(value) || value.length === 0 || strings.length !== value.length) {
    refuse('invalid_request', `${path}: it must be a non-empty array of strings`)
  }
  return strings as string[]
}
