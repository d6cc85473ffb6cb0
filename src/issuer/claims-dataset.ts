/** The dataset that is made of the claims of a person, as the operator's provider has signed them in. */
import { isObject, type Json, type JsonObject, memberOf, own } from '../codec/json.ts'
import type { ClaimTemplate, DatasetMapping } from '../config/claim-datasets.ts'
import type { Configuration } from '../credential/format.ts'
import { pathText } from '../protocol/claim-path.ts'

/** The dataset, and the claims that it has no values of, because the account has none. */
export interface ClaimsDataset {
  readonly dataset: JsonObject
  readonly missing: readonly string[]
}

type NamedConfiguration = Pick<Configuration, 'posted'> & { readonly id: string }

/**
 * Claims that the provider may hold without having verified them, with the claims that say so. OpenID Connect Core 1.0
 * section 5.1.
 */
const VERIFIED_BY: Readonly<Record<string, string>> = {
  email: 'email_verified',
  phone_number: 'phone_number_verified',
}

/**
 * Returns the mappings of the configurations, by their ids or scopes; where one has no mapping, `unmappedName` is the
 * scope or the id of the first such configuration.
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

/** Returns the first names of all claims that the mappings need, with those that say whether they are verified. */
export function claimNamesOf(datasets: Iterable<DatasetMapping>): readonly string[] {
  const names = [...datasets].flatMap(({ claims }) => namesIn(claims))
  return [...new Set(names.flatMap((name) => [name, verificationClaimOf(name) ?? name]))]
}

/** Makes the dataset of all mappings together. */
export function datasetOfClaims(claims: JsonObject, mappings: readonly DatasetMapping[]): ClaimsDataset {
  const missing = new Set<string>()
  const parts = mappings.map(({ claims: template, constants }) => {
    return mergeMembers(constants, fillTemplate(template, claims, missing))
  })
  return { dataset: parts.reduce(mergeMembers, {}), missing: [...missing] }
}

/**
 * Tests whether the claims are those of the person. An address or a number counts when the provider says that it is
 * verified, since people who may edit their own account could write those of anybody.
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
 * Returns the claim at `path`; undefined when there is none, when the claim is null or empty, or when the provider says
 * that the claim is not verified.
 */
function findClaim(claims: JsonObject, path: readonly string[]): Json | undefined {
  const [first = ''] = path
  if (readVerification(claims, first) === false) return undefined
  const value = path.reduce<Json | undefined>((from, name) => memberOf(from, name), claims)
  return value === null || value === '' ? undefined : value
}

/**
 * Returns whether the provider has verified the claim; undefined where it does not say, and where no claim would say
 * it. Some providers write `true` as a text.
 */
function readVerification(claims: JsonObject, name: string): boolean | undefined {
  const verifiedBy = verificationClaimOf(name)
  const statement = verifiedBy === undefined ? undefined : own(claims, verifiedBy)
  return statement === undefined ? undefined : statement === true || statement === 'true'
}

function verificationClaimOf(name: string): string | undefined {
  return Object.hasOwn(VERIFIED_BY, name) ? VERIFIED_BY[name] : undefined
}

/** Returns the members of both; of a value that both have, that of `other`. */
function mergeMembers(one: JsonObject, other: JsonObject): JsonObject {
  const members = Object.entries(other).map(([name, value]): [string, Json] => {
    const before = own(one, name)
    return [name, isObject(before) && isObject(value) ? mergeMembers(before, value) : value]
  })
  return { ...one, ...Object.fromEntries(members) }
}
