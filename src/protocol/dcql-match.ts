/**
 * Matches credentials against a DCQL query, for the wallet that chooses and the verifier that checks. The functions are
 * pure, and serve all JSON credentials. OpenID4VP 1.0, Selecting Claims and Credentials. Messages name paths and
 * expectations, never the value of a claim.
 */
import type { Json, JsonObject } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { type ClaimPath, pathText, selectClaims } from './claim-path.ts'
import type { ClaimQuery, CredentialQuery, CredentialSetQuery, DcqlQuery } from './dcql.ts'

export interface ClaimAnswer {
  readonly path: ClaimPath
  /** The positions of the claim; empty when it is missing. */
  readonly positions: readonly ClaimPosition[]
  /** The positions with one of the requested values; all positions when the query names no values. */
  readonly matching: readonly ClaimPosition[]
  /** The reason for which the claim is missing. */
  readonly missing?: string
  /** The requested values, when the claim exists and no value matches. */
  readonly mismatch?: string
}

export interface ClaimsAnswer {
  /** An answer for each claim of the query, in its order. */
  readonly claims: readonly ClaimAnswer[]
  /**
   * The positions that a wallet discloses: the matching ones of the chosen claims, each once. Empty unless the query is
   * satisfied.
   */
  readonly disclose: readonly ClaimPosition[]
  /** The reason for which requested claims are missing. */
  readonly missing?: string
  /** The requested values, when all claims exist and some have other values. Never set together with `missing`. */
  readonly mismatch?: string
}

export type CredentialChoice = { readonly ids: readonly string[] } | { readonly problem: string }

const MAX_LISTED = 5

/** The answer for an id that no claim has: no credential must satisfy a query that was not validated. */
const UNKNOWN_CLAIM: ClaimAnswer = {
  path: [],
  positions: [],
  matching: [],
  missing: 'the query does not define a claim it wants',
}

/**
 * Finds the claims that satisfy the query: all of them, or those of the first satisfied claim set. When no set is
 * satisfied, the first set whose claims exist counts: a wallet need not follow `values`, so a verifier asks the two
 * questions separately.
 */
export function answerClaims(query: CredentialQuery, claims: JsonObject): ClaimsAnswer {
  const queries = query.claims ?? []
  const answers = queries.map((claim) => answerClaim(claim, claims))
  const byId = new Map(queries.map(({ id }, i) => [id, answers[i]]))
  const sets = query.claim_sets?.map((set) => set.map((id) => byId.get(id) ?? UNKNOWN_CLAIM)) ?? [answers]

  const satisfiedSet = sets.find((set) => set.every((answer) => answer.matching.length > 0))
  if (satisfiedSet)
    return { claims: answers, disclose: distinctPositions(satisfiedSet.flatMap((answer) => answer.matching)) }
  const presentSet = sets.find((set) => set.every((answer) => answer.positions.length > 0))
  if (presentSet)
    return { claims: answers, disclose: [], mismatch: joinSentences(presentSet.map((answer) => answer.mismatch)) }
  const missing = joinSentences(sets.flat().map((answer) => answer.missing))
  return { claims: answers, disclose: [], missing: query.claim_sets ? `no claim set is complete: ${missing}` : missing }
}

/** Returns the claims of the first satisfied claim set, as in {@link ClaimsAnswer.disclose}, or all claims. */
export function chosenClaims(query: CredentialQuery, { claims }: ClaimsAnswer): readonly ClaimAnswer[] {
  const ids = (query.claims ?? []).map(({ id }) => id)
  const sets = query.claim_sets?.map((set) => claims.filter((_, index) => set.some((id) => id === ids[index])))
  return sets?.find((set) => set.every(({ matching }) => matching.length > 0)) ?? claims
}

/**
 * Returns a sentence about the required credentials that are not among `answeredIds`; undefined when none is missing.
 */
export function answerCredentials(query: DcqlQuery, answeredIds: ReadonlySet<string>): string | undefined {
  const missing = query.credential_sets
    ? query.credential_sets.flatMap((set, i) =>
        isRequired(set) && !satisfiedOption(set, answeredIds) ? describeUnmetSet(set, i) : [],
      )
    : query.credentials
        .filter(({ id }) => !answeredIds.has(id))
        .map(({ id }) => `nothing answers credential query ${id}`)
  return missing.length > 0 ? missing.join('; ') : undefined
}

/**
 * Chooses the credential queries that a wallet should answer out of those that it can. Optional sets are left out,
 * which discloses least, unless all sets are optional: then every set that can be satisfied is answered.
 */
export function chooseCredentials(query: DcqlQuery, availableIds: ReadonlySet<string>): CredentialChoice {
  const problem = answerCredentials(query, availableIds)
  if (problem !== undefined) return { problem }
  const sets = query.credential_sets
  if (!sets) return { ids: query.credentials.map(({ id }) => id) }
  const requiredSets = sets.filter(isRequired)
  const chosenIds = new Set(
    (requiredSets.length > 0 ? requiredSets : sets).flatMap((set) => satisfiedOption(set, availableIds) ?? []),
  )
  if (chosenIds.size === 0) return { problem: sets.map(describeUnmetSet).join('; ') }
  return { ids: query.credentials.map(({ id }) => id).filter((id) => chosenIds.has(id)) }
}

function answerClaim({ path, values }: ClaimQuery, claims: JsonObject): ClaimAnswer {
  const selection = selectClaims(claims, path)
  if ('problem' in selection) return { path, positions: [], matching: [], missing: selection.problem }
  const positions = selection.claims.map((each) => each.path)
  if (values === undefined) return { path, positions, matching: positions }
  // OpenID4VP 1.0, Claims Query: type and value match one of `values`. It does not say of which element when a path
  // selects several; one is enough here, and only those that match are disclosed, as if the others did not exist.
  const requestedValues = new Set<Json>(values)
  const matching = selection.claims.filter(({ value }) => requestedValues.has(value)).map((each) => each.path)
  if (matching.length > 0) return { path, positions, matching }
  return { path, positions, matching, mismatch: `${pathText(path)}: expected ${valuesText(values)}` }
}

function valuesText(values: readonly (string | number | boolean)[]): string {
  const texts = values.slice(0, MAX_LISTED).map((value) => JSON.stringify(value))
  const more = values.length - texts.length
  return `${values.length > 1 ? 'one of ' : ''}${texts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function joinSentences(parts: readonly (string | undefined)[]): string {
  return [...new Set(parts.filter((part) => part !== undefined))].join('; ')
}

function distinctPositions(paths: readonly ClaimPosition[]): readonly ClaimPosition[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()]
}

export function isRequired(set: CredentialSetQuery): boolean {
  return set.required !== false
}

/** Returns the first option all of whose credentials are there. */
export function satisfiedOption(
  set: CredentialSetQuery,
  availableIds: ReadonlySet<string>,
): readonly string[] | undefined {
  return set.options.find((option) => option.every((id) => availableIds.has(id)))
}

function describeUnmetSet(set: CredentialSetQuery, index: number): string {
  const options = set.options.slice(0, MAX_LISTED).map((option) => option.join(' and '))
  return `no option of credential set ${index} is answered in full: ${options.join(', or ')}`
}
