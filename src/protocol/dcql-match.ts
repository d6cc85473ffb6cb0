/**
 * How a DCQL query is answered, for the wallet that chooses and the verifier that checks; pure, and written once for all
 * JSON credentials. OpenID4VP 1.0, Selecting Claims and Credentials. Sentences name paths and what was expected, never the
 * value of a claim.
 */
import type { Json, JsonObject } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { type ClaimPath, pathText, selectClaims } from './claim-path.ts'
import type { ClaimQuery, CredentialQuery, CredentialSetQuery, DcqlQuery } from './dcql.ts'

export interface ClaimAnswer {
  readonly path: ClaimPath
  /** Where the claim is; empty when it is missing. */
  readonly found: readonly ClaimPosition[]
  /** Those of `found` that have a wanted value; all when any value will do. */
  readonly matching: readonly ClaimPosition[]
  /** Why nothing was found. */
  readonly missing?: string
  /** What was wanted, when something was found and nothing matches. */
  readonly mismatch?: string
}

export interface ClaimsAnswer {
  /** One for each of the query's claims, in its order. */
  readonly claims: readonly ClaimAnswer[]
  /** What a wallet discloses: the matching paths of the claims that were chosen, each once. Empty unless all is well. */
  readonly disclose: readonly ClaimPosition[]
  /** Why the claims that were asked for are not all there. */
  readonly missing?: string
  /** They are all there, but not with the values that were asked for. Never together with `missing`. */
  readonly mismatch?: string
}

export type CredentialChoice = { readonly ids: readonly string[] } | { readonly problem: string }

const MAX_NAMED = 5

/** An id that no claim has: a query that was not validated must not pass for that. */
const UNKNOWN: ClaimAnswer = {
  path: [],
  found: [],
  matching: [],
  missing: 'the query does not define a claim it wants',
}

/**
 * Which claims answer the query: all of them, or those of the first claim set that is satisfied. When none is, the first
 * whose claims are at least there: a wallet need not follow `values`, so a verifier asks the two questions separately.
 */
export function answerClaims(query: CredentialQuery, claims: JsonObject): ClaimsAnswer {
  const asked = query.claims ?? []
  const answers = asked.map((claim) => answerClaim(claim, claims))
  const byId = new Map(asked.map(({ id }, i) => [id, answers[i]]))
  const sets = query.claim_sets?.map((set) => set.map((id) => byId.get(id) ?? UNKNOWN)) ?? [answers]

  const satisfied = sets.find((set) => set.every((answer) => answer.matching.length > 0))
  if (satisfied) return { claims: answers, disclose: distinct(satisfied.flatMap((answer) => answer.matching)) }
  const present = sets.find((set) => set.every((answer) => answer.found.length > 0))
  if (present) return { claims: answers, disclose: [], mismatch: sentences(present.map((answer) => answer.mismatch)) }
  const missing = sentences(sets.flat().map((answer) => answer.missing))
  return { claims: answers, disclose: [], missing: query.claim_sets ? `no claim set is complete: ${missing}` : missing }
}

/** The claims of the first claim set that is satisfied, as {@link ClaimsAnswer.disclose} has them; or all. */
export function chosenClaims(query: CredentialQuery, { claims }: ClaimsAnswer): readonly ClaimAnswer[] {
  const ids = (query.claims ?? []).map(({ id }) => id)
  const sets = query.claim_sets?.map((set) => claims.filter((_, index) => set.some((id) => id === ids[index])))
  return sets?.find((set) => set.every(({ matching }) => matching.length > 0)) ?? claims
}

/** Which required credentials are not among `answered`, in a sentence; undefined when none is missing. */
export function answerCredentials(query: DcqlQuery, answered: ReadonlySet<string>): string | undefined {
  const missing = query.credential_sets
    ? query.credential_sets.flatMap((set, i) => (isRequired(set) && !optionOf(set, answered) ? wantedBy(set, i) : []))
    : query.credentials.filter(({ id }) => !answered.has(id)).map(({ id }) => `nothing answers credential query ${id}`)
  return missing.length > 0 ? missing.join('; ') : undefined
}

/**
 * The credential queries a wallet should answer out of those it can. Optional sets are left out, which discloses least,
 * unless nothing else was asked for: then every one that can be satisfied is answered.
 */
export function chooseCredentials(query: DcqlQuery, available: ReadonlySet<string>): CredentialChoice {
  const problem = answerCredentials(query, available)
  if (problem !== undefined) return { problem }
  const sets = query.credential_sets
  if (!sets) return { ids: query.credentials.map(({ id }) => id) }
  const required = sets.filter(isRequired)
  const chosen = new Set((required.length > 0 ? required : sets).flatMap((set) => optionOf(set, available) ?? []))
  if (chosen.size === 0) return { problem: sets.map(wantedBy).join('; ') }
  return { ids: query.credentials.map(({ id }) => id).filter((id) => chosen.has(id)) }
}

function answerClaim({ path, values }: ClaimQuery, claims: JsonObject): ClaimAnswer {
  const selection = selectClaims(claims, path)
  if ('problem' in selection) return { path, found: [], matching: [], missing: selection.problem }
  const found = selection.selected.map((each) => each.path)
  if (values === undefined) return { path, found, matching: found }
  // OpenID4VP 1.0, Claims Query: type and value match one of `values`. It does not say of which element when a path
  // selects several; one is enough here, and only those that match are disclosed, as if the others did not exist.
  const wanted = new Set<Json>(values)
  const matching = selection.selected.filter(({ value }) => wanted.has(value)).map((each) => each.path)
  if (matching.length > 0) return { path, found, matching }
  return { path, found, matching, mismatch: `${pathText(path)}: expected ${valuesText(values)}` }
}

function valuesText(values: readonly (string | number | boolean)[]): string {
  const named = values.slice(0, MAX_NAMED).map((value) => JSON.stringify(value))
  const more = values.length - named.length
  return `${values.length > 1 ? 'one of ' : ''}${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function sentences(parts: readonly (string | undefined)[]): string {
  return [...new Set(parts.filter((part) => part !== undefined))].join('; ')
}

function distinct(paths: readonly ClaimPosition[]): readonly ClaimPosition[] {
  return [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()]
}

export function isRequired(set: CredentialSetQuery): boolean {
  return set.required !== false
}

/** The first option of which every credential is there. */
export function optionOf(set: CredentialSetQuery, there: ReadonlySet<string>): readonly string[] | undefined {
  return set.options.find((option) => option.every((id) => there.has(id)))
}

function wantedBy(set: CredentialSetQuery, index: number): string {
  const options = set.options.slice(0, MAX_NAMED).map((option) => option.join(' and '))
  return `no option of credential set ${index} is answered in full: ${options.join(', or ')}`
}
