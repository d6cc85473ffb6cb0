/** Makes the dataset from the claims of a person, as the operator's OpenID Connect provider returned them. */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { ClaimTemplate, DatasetMapping } from '../config/claim-datasets.ts'
import type { Configuration } from '../credential/format.ts'
import { pathText } from '../protocol/claim-path-text.ts'

export interface ClaimsDataset {
  readonly dataset: JsonObject
  /** The names of required claims that the account lacks. */
  readonly missing: readonly string[]
  /** Whether two of the mappings give a member different values. */
  readonly isContradictory: boolean
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
): readonly DatasetMapping[] | { readonly unmappedName: string } {
  const mappings: DatasetMapping[] = []
  for (const { id, posted } of configurations) {
    const mapping = datasets.get(id) ?? datasets.get(posted.scope ?? '')
    if (mapping === undefined) return { unmappedName: posted.scope ?? id }
    mappings.push(mapping)
  }
  return mappings
}

/** Returns the top-level claim names that the mappings need, with the claims that say whether they are verified. */
export function claimNamesOf(datasets: Iterable<DatasetMapping>): readonly string[] {
  const names = [...datasets].flatMap(({ claims }) => namesIn(claims))
  return [...new Set(names.flatMap((name) => [name, verificationClaimOf(name) ?? name]))]
}

/** Makes one dataset by all `mappings`, whose values hold for all credentials. */
export function datasetOfClaims(claims: JsonObject, mappings: readonly DatasetMapping[]): ClaimsDataset {
  const missing = new Set<string>()
  const parts = mappings.map(({ claims: template, constants }) => {
    return mergeMembers(constants, fillTemplate(template, claims, missing))
  })
  const isContradictory = parts.some((part, index) => parts.slice(0, index).some((other) => contradicts(part, other)))
  return { dataset: parts.reduce(mergeMembers, {}), missing: [...missing], isContradictory }
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

/** Tests whether a member of both objects has different values. */
function contradicts(one: JsonObject, other: JsonObject): boolean {
  return Object.entries(one).some(([name, value]) => {
    const counterpart = memberOf(other, name)
    if (counterpart === undefined) return false
    return isObject(value) && isObject(counterpart)
      ? contradicts(value, counterpart)
      : !isDeepStrictEqual(value, counterpart)
  })
}

/** Merges two objects. For a member of both, the value of `other` wins. */
function mergeMembers(one: JsonObject, other: JsonObject): JsonObject {
  const members = Object.entries(other).map(([name, value]): [string, Json] => {
    const before = memberOf(one, name)
    return [name, isObject(before) && isObject(value) ? mergeMembers(before, value) : value]
  })
  return { ...one, ...Object.fromEntries(members) }
}
