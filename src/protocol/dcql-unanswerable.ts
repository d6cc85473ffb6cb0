/**
 * Finds parts of a valid credential query that no credential can satisfy, to refuse the query when it is posted. A
 * wallet does not use this. Each format adds its own rules in `findOwnQueryMistakes`.
 */
import { type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { ClaimPath } from './claim-path-text.ts'
import { type ClaimQuery, claimPairs, readableClaims } from './dcql.ts'
import type { Mistakes } from './dcql-parts.ts'

type Claims = readonly (ClaimQuery | undefined)[]

/**
 * Returns the claims of a credential query that no credential can satisfy. A claim of the format cannot have a name in
 * `reservedNames`.
 */
export function* findUnanswerable(credential: JsonObject, at: string, reservedNames: readonly unknown[]): Mistakes {
  const claims = readableClaims(memberOf(credential, 'claims'))
  for (const [i, claim] of claims.entries()) {
    if (claim !== undefined) yield* findPathMistakes(claim.path, `${at}.claims[${i}].path`, reservedNames)
  }
  const sets = memberOf(credential, 'claim_sets')
  if (sets === undefined) yield* findContradictions(claims, at)
  else if (Array.isArray(sets)) yield* findContradictionsInSets(sets, claims, at)
}

function* findPathMistakes(path: ClaimPath, at: string, reservedNames: readonly unknown[]): Mistakes {
  if (path[0] === null || typeof path[0] === 'number')
    yield `${at}[0]: must be a string, since a credential is an object`
  for (const [i, step] of path.entries()) {
    if (reservedNames.includes(step)) yield `${at}[${i}]: is a member of SD-JWT itself, never a claim`
  }
}

/** Returns contradictions among all claims, for a query without claim sets. */
function* findContradictions(claims: Claims, at: string): Mistakes {
  for (const [later, earlier] of claimPairs(claims, areContradictory)) {
    const [path, other] = [`${at}.claims[${later}].path`, `${at}.claims[${earlier}]`]
    yield `${path}: contradicts ${other}, so that no credential can have both; remove one`
  }
}

/** Returns contradictions within each claim set. */
function* findContradictionsInSets(sets: readonly Json[], claims: Claims, at: string): Mistakes {
  const ids = claims.map((claim) => claim?.id)
  const contradictoryPairs = claims.flatMap((claim, later) =>
    claims
      .slice(0, later)
      .flatMap((other, earlier) => (claim && other && areContradictory(claim, other) ? [[later, earlier]] : [])),
  )
  for (const [i, set] of sets.entries()) {
    const setIds = new Set<unknown>(Array.isArray(set) ? set : [])
    const pair = contradictoryPairs.find((each) => each.every((index) => setIds.has(ids[index])))
    if (pair === undefined) continue
    const [one, other] = pair.map((index) => `claims[${index}]`)
    yield `${at}.claim_sets[${i}]: ${one} contradicts ${other}, so that no credential can have both; take one out`
  }
}

function areContradictory(a: ClaimQuery, b: ClaimQuery): boolean {
  return needsOtherShape(a, b) || needsOtherShape(b, a)
}

/**
 * Tests whether `wide` selects everything that `narrow` selects up to some step, and the two need different types
 * there: an object and an array, or a value and something with members.
 */
function needsOtherShape(wide: ClaimQuery, narrow: ClaimQuery): boolean {
  const fork = narrow.path.findIndex((step, i) => !covers(wide.path[i], step))
  if (fork === -1) return narrow.path.length < wide.path.length && narrow.values !== undefined
  if (fork === wide.path.length) return false
  return (typeof narrow.path[fork] === 'string') !== (typeof wide.path[fork] === 'string')
}

/** Tests whether a step of a path includes another step; null includes each index. */
function covers(wide: ClaimPath[number] | undefined, narrow: ClaimPath[number]): boolean {
  return wide === narrow || (wide === null && typeof narrow === 'number')
}
