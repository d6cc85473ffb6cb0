/** Makes datasets from the claims of a person, as the operator's OpenID Connect provider returned them. */
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { ClaimTemplate, DatasetMapping } from '../config/claim-datasets.ts'
import type { Configuration } from '../credential/format.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import type { ConfigurationDataset } from './collections.ts'

export interface ClaimsDatasets {
  readonly datasets: readonly ConfigurationDataset[]
  /** The names of required claims that the account lacks. */
  readonly missing: readonly string[]
}

interface ConfigurationMapping extends DatasetMapping {
  readonly configurationId: string
}

type NamedConfiguration = Pick<Configuration, 'posted'> & { readonly id: string }

/** Claims that the provider may not have verified, with the claim that says so. OpenID Connect Core 1.0 section 5.1. */
const VERIFIED_BY: Readonly<Record<string, string>> = {
  email: 'email_verified',
  phone_number: 'phone_number_verified',
}

/**
 * Returns the mapping of each configuration, by its id or scope. If one has no mapping, `unmappedName` is the scope or
 * the id of the first such configuration.
 */
export function mappingsOf(
  datasets: ReadonlyMap<string, DatasetMapping>,
  configurations: readonly NamedConfiguration[],
): readonly ConfigurationMapping[] | { readonly unmappedName: string } {
  const mappings: ConfigurationMapping[] = []
  for (const { id, posted } of configurations) {
    const mapping = datasets.get(id) ?? datasets.get(posted.scope ?? '')
    if (mapping === undefined) return { unmappedName: posted.scope ?? id }
    mappings.push({ configurationId: id, ...mapping })
  }
  return mappings
}

/** Returns the top-level claim names that the mappings need, with the claims that say whether they are verified. */
export function claimNamesOf(datasets: Iterable<DatasetMapping>): readonly string[] {
  const names = [...datasets].flatMap(({ claims }) => namesIn(claims))
  return [...new Set(names.flatMap((name) => [name, verificationClaimOf(name) ?? name]))]
}

/** Makes a dataset for each configuration, so that no credential has claims of another. */
export function datasetsOfClaims(claims: JsonObject, mappings: readonly ConfigurationMapping[]): ClaimsDatasets {
  const missing = new Set<string>()
  const datasets = mappings.map(({ configurationId, claims: template, constants }) => {
    return { configurationId, dataset: mergeMembers(constants, fillTemplate(template, claims, missing)) }
  })
  return { datasets, missing: [...missing] }
}

/**
 * Tests whether the claims match `person`. An email address or a phone number must be verified, because people may edit
 * their own account.
 */
export function isPerson(claims: JsonObject, person: Readonly<Record<string, string>>): boolean {
  return Object.entries(person).every(([name, value]) => {
    const isVouchedFor = verificationClaimOf(name) === undefined || readVerification(claims, name) === true
    return isVouchedFor && findClaim(claims, [name]) === value
  })
}

function namesIn(template: ClaimTemplate): readonly string[] {
  return Object.values(template).flatMap((value) => (isPath(value) ? value.slice(0, 1) : namesIn(value)))
}

function fillTemplate(template: ClaimTemplate, claims: JsonObject, missing: Set<string>): JsonObject {
  const members = Object.entries(template).flatMap(([name, value]): [string, Json][] => {
    if (!isPath(value)) {
      const inner = fillTemplate(value, claims, missing)
      return Object.keys(inner).length === 0 ? [] : [[name, inner]]
    }
    const claim = findClaim(claims, value)
    if (claim !== undefined) return [[name, claim]]
    missing.add(pathText(value))
    return []
  })
  return Object.fromEntries(members)
}

function isPath(value: ClaimTemplate | readonly string[]): value is readonly string[] {
  return Array.isArray(value)
}

/**
 * Returns the claim at `path`; undefined if it is absent, null or empty, or if the provider says that it is not
 * verified.
 */
function findClaim(claims: JsonObject, path: readonly string[]): Json | undefined {
  const [first = ''] = path
  if (readVerification(claims, first) === false) return undefined
  const value = path.reduce<Json | undefined>((from, name) => memberOf(from, name), claims)
  return value === null || value === '' ? undefined : value
}

/**
 * Returns whether the provider has verified the claim; undefined if it does not say so, or if there is no claim for it.
 * Some providers send `true` as a text.
 */
function readVerification(claims: JsonObject, name: string): boolean | undefined {
  const verifiedBy = verificationClaimOf(name)
  const statement = verifiedBy === undefined ? undefined : memberOf(claims, verifiedBy)
  return statement === undefined ? undefined : statement === true || statement === 'true'
}

function verificationClaimOf(name: string): string | undefined {
  return Object.hasOwn(VERIFIED_BY, name) ? VERIFIED_BY[name] : undefined
}

/** Merges two objects. For a member of both, the value of `other` wins. */
function mergeMembers(one: JsonObject, other: JsonObject): JsonObject {
  const members = Object.entries(other).map(([name, value]): [string, Json] => {
    const before = memberOf(one, name)
    return [name, isObject(before) && isObject(value) ? mergeMembers(before, value) : value]
  })
  return { ...one, ...Object.fromEntries(members) }
}
