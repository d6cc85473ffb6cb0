/**
 * Matches credentials with a DCQL query, for the wallet, which selects, and for the verifier, which checks. All
 * functions are pure. Messages have paths and expected values, but no claim values. OpenID4VP 1.0, Selecting Claims and
 * Credentials.
 */
import type { Json, JsonObject } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { selectClaims } from './claim-path.ts'
import { type ClaimPath, pathText } from './claim-path-text.ts'
import type { ClaimQuery, CredentialQuery, CredentialSetQuery, DcqlQuery } from './dcql.ts'

export interface ClaimAnswer {
  readonly path: ClaimPath
  /** The positions of the claim; empty if it is missing. */
  readonly positions: readonly ClaimPosition[]
  /** The positions with one of the requested values; all positions if the query has no `values`. */
  readonly matching: readonly ClaimPosition[]
  /** Why the claim is missing. */
  readonly missing?: string
  /** The requested values, if the claim exists but has none of them. */
  readonly mismatch?: string
}

export interface ClaimsAnswer {
  /** The answer for each claim of the query, in order. */
  readonly claims: readonly ClaimAnswer[]
  /** The answers of the first satisfied claim set, in the order of the query; all answers without such a set. */
  readonly chosen: readonly ClaimAnswer[]
  /**
   * The positions that a wallet discloses, each once: the matching ones of the chosen claims. Empty unless the query is
   * satisfied.
   */
  readonly disclose: readonly ClaimPosition[]
  /** Why requested claims are missing. */
  readonly missing?: string
  /** The requested values, if all claims exist and some have other values. Never set together with `missing`. */
  readonly mismatch?: string
}

export type CredentialChoice = { readonly ids: readonly string[] } | { readonly problem: string }

const MAX_LISTED = 5

/** The answer for an id in `claim_sets` that no claim has, so that an invalid query is never satisfied. */
const UNKNOWN_CLAIM: ClaimAnswer = {
  path: [],
  positions: [],
  matching: [],
  missing: 'the query does not define a claim it wants',
}

/**
 * Finds the claims that satisfy the query: all, or those of the first satisfied claim set. If no set is satisfied,
 * reports a `mismatch` for the first set whose claims all exist, and otherwise `missing`. A wallet may ignore `values`,
 * so a verifier distinguishes the two.
 */
export function answerClaims(query: CredentialQuery, claims: JsonObject): ClaimsAnswer {
  const queries = query.claims ?? []
  const answers = queries.map((claim) => answerClaim(claim, claims))
  const byId = new Map(queries.map(({ id }, i) => [id, answers[i]]))
  const sets = query.claim_sets?.map((set) => set.map((id) => byId.get(id) ?? UNKNOWN_CLAIM)) ?? [answers]

  const satisfiedSet = sets.find((set) => set.every((answer) => answer.matching.length > 0))
  if (satisfiedSet) {
    const chosen = answers.filter((answer) => satisfiedSet.includes(answer))
    return { claims: answers, chosen, disclose: distinctPositions(satisfiedSet.flatMap((answer) => answer.matching)) }
  }
  const unsatisfied = { claims: answers, chosen: answers, disclose: [] }
  const presentSet = sets.find((set) => set.every((answer) => answer.positions.length > 0))
  if (presentSet) return { ...unsatisfied, mismatch: joinSentences(presentSet.map((answer) => answer.mismatch)) }
  const missing = joinSentences(sets.flat().map((answer) => answer.missing))
  return { ...unsatisfied, missing: query.claim_sets ? `no claim set is complete: ${missing}` : missing }
}

/**
 * Returns the ids of the credential queries that a wallet may answer. With credential sets, these are the ids in their
 * options.
 */
export function answerableIds({ credentials, credential_sets: sets }: DcqlQuery): ReadonlySet<string> {
  return new Set(sets ? sets.flatMap(({ options }) => options.flat()) : credentials.map(({ id }) => id))
}

/** Describes the required credentials that are not among `answeredIds`; undefined if none is missing. */
export function findMissingCredentials(query: DcqlQuery, answeredIds: ReadonlySet<string>): string | undefined {
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
 * Selects the credential queries to answer, out of those for which the wallet has a credential. Skips optional
 * credential sets, to disclose less; but if all sets are optional, answers all that can be satisfied.
 */
export function chooseCredentials(query: DcqlQuery, availableIds: ReadonlySet<string>): CredentialChoice {
  const problem = findMissingCredentials(query, availableIds)
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
  // OpenID4VP 1.0, Claims Query: type and value must equal one of `values`. If the path selects several elements, one
  // match is enough here, and only matching elements are disclosed.
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

/** Tests whether a credential set is required. */
export function isRequired(set: CredentialSetQuery): boolean {
  return set.required !== false
}

/** Returns the first option for which all credentials are available. */
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
